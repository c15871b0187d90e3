import type { SQLInputValue, StatementSync } from 'node:sqlite';

/**
 * Returns the statement, whose errors are explained from now on. The statement itself is changed: a proxy would take longer
 * than a read.
 */
export const guarded = (statement: StatementSync, explained: (error: unknown) => unknown): StatementSync => {
  const attempt = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      throw explained(error);
    }
  };
  const all = statement.all.bind(statement);
  const get = statement.get.bind(statement);
  const run = statement.run.bind(statement);
  const iterate = statement.iterate.bind(statement);
  return Object.assign(statement, {
    all: (...parameters: SQLInputValue[]) => attempt(() => all(...parameters)),
    get: (...parameters: SQLInputValue[]) => attempt(() => get(...parameters)),
    run: (...parameters: SQLInputValue[]) => attempt(() => run(...parameters)),
    *iterate(...parameters: SQLInputValue[]) {
      try {
        yield* iterate(...parameters);
      } catch (error) {
        throw explained(error);
      }
    },
  });
};
