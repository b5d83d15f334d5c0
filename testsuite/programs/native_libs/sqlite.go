// SPDX-License-Identifier: Apache-2.0
package main

/*
#cgo LDFLAGS: -lsqlite3
#include <sqlite3.h>
#include <stdlib.h>

static sqlite3 *open_database(void)
{
	sqlite3 *database;

	if (sqlite3_open(":memory:", &database) != SQLITE_OK)
		abort();
	if (sqlite3_exec(database,
			 "create table t (a integer, b text);"
			 "insert into t values (1, 'one'), (2, 'two')",
			 NULL, NULL, NULL) != SQLITE_OK)
		abort();
	return database;
}

static sqlite3_stmt *prepare(sqlite3 *database)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(database, "select a, b from t where a > ?", -1,
			       &statement, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_int(statement, 1, 0);
	if (sqlite3_step(statement) != SQLITE_ROW)
		abort();
	return statement;
}
*/
import "C"

import "unsafe"

type sqliteLibrary struct{}

func (sqliteLibrary) name() string { return "sqlite3" }

type sqliteSession struct {
	database  *C.sqlite3
	statement *C.sqlite3_stmt
}

func (sqliteLibrary) open() session {
	database := C.open_database()
	return &sqliteSession{database, C.prepare(database)}
}

func (s *sqliteSession) objects() map[string]unsafe.Pointer {
	return map[string]unsafe.Pointer{
		"sqlite3":      unsafe.Pointer(s.database),
		"sqlite3_stmt": unsafe.Pointer(s.statement),
	}
}

func (s *sqliteSession) close() {
	C.sqlite3_finalize(s.statement)
	C.sqlite3_close(s.database)
}
