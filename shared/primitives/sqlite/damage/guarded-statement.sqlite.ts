import type { SQLInputValue, StatementSync } from 'node:sqlite';

/** Makes a statement translate its errors. Changes the statement itself: a proxy would take longer than a read. */
export const guarded = (statement: StatementSync, explained: (error: unknown) => unknown): StatementSync => {
  // Every read and write passes here. One more closure for each would take as long as a small read.
  const attempting =
    <Result>(work: (...parameters: SQLInputValue[]) => Result) =>
    (...parameters: SQLInputValue[]): Result => {
      try {
        return work(...parameters);
      } catch (error) {
        throw explained(error);
      }
    };
  const iterate = statement.iterate.bind(statement);
  return Object.assign(statement, {
    all: attempting(statement.all.bind(statement)),
    get: attempting(statement.get.bind(statement)),
    run: attempting(statement.run.bind(statement)),
    *iterate(...parameters: SQLInputValue[]) {
      try {
        yield* iterate(...parameters);
      } catch (error) {
        throw explained(error);
      }
    },
  });
};
