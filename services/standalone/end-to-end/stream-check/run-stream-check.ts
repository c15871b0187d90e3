import { execFile } from 'node:child_process';
import type { Outcome } from '../../../../shared/client/conformance/run-case.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';

export interface Checked {
  code: number;
  stderr: string;
  /** Of each case that was run, by result, the ids. */
  ids: Record<Outcome['result'], string[]>;
  /** Of the cases that failed, all that was said, for the message of a failing spec. */
  failures: Outcome[];
}

/** What a busy machine may take until something comes. */
const WITHIN = ['--within', '120'];

/** Runs `annals stream-check`, as built. */
export const runStreamCheck = (dataFolder: string, ...args: string[]): Promise<Checked> =>
  new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['dist/services/standalone/annals.js', 'stream-check', ...WITHIN, '--json', ...args],
      { env: { ...outerEnvironment, DATA_DIR: dataFolder }, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        if (error && typeof error.code !== 'number') {
          reject(new Error('annals stream-check did not end by itself', { cause: error }));
          return;
        }
        const { cases = [] } = (stdout === '' ? {} : JSON.parse(stdout)) as { cases?: Outcome[] };
        const idsOf = (result: Outcome['result']) => cases.filter((one) => one.result === result).map(({ id }) => id);
        resolve({
          code: Number(error?.code ?? 0),
          stderr,
          ids: { ok: idsOf('ok'), failed: idsOf('failed'), skipped: idsOf('skipped') },
          failures: cases.filter(({ result }) => result === 'failed'),
        });
      },
    );
  });
