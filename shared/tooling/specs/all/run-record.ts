import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Failure } from '../../failure.mjs';

/** The counts of one spec file in one suite. */
export interface FileResult {
  suite: string;
  file: string;
  passed: number;
  failed: number;
  skipped: number;
}

/** How long a suite ran without an interruption. An interrupted suite has several durations. */
interface Duration {
  suite: string;
  seconds: number;
}

/** What a continued run has in common with the run before. */
interface Run {
  commit: string;
  /** The settings of the random draws. */
  draws: Readonly<Record<string, string>>;
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** What a run of all suites has found so far, kept in a file so that an interrupted run can go on. */
export class RunRecord {
  private constructor(
    private readonly path: string,
    readonly run: Run,
    private readonly results: FileResult[] = [],
    private readonly durations: Duration[] = [],
  ) {}

  /** Begins a record, and deletes the last one at this path. */
  static begin(path: string, run: Run): RunRecord {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(run)}\n`);
    return new RunRecord(path, run);
  }

  /**
   * Opens the record of the last run, without a last line that a kill has cut off.
   * @throws Failure if the path has no record, or the record of another commit
   */
  static open(path: string, commit: string): RunRecord {
    if (!existsSync(path)) throw new Failure('There is no run to continue: run again without --continue.');
    const whole = readFileSync(path, 'utf8').replace(/[^\n]*$/, '');
    writeFileSync(path, whole);
    const [first = '', ...lines] = whole.trimEnd().split('\n');
    const run = JSON.parse(first) as Run;
    if (run.commit !== commit)
      throw new Failure(`The last run was of commit ${run.commit}, not of ${commit}: run again without --continue.`);
    const entries = lines.map((line) => JSON.parse(line) as FileResult | Duration);
    const results = entries.filter((entry) => 'file' in entry);
    return new RunRecord(
      path,
      run,
      results,
      entries.filter((entry) => 'seconds' in entry),
    );
  }

  addResult(result: FileResult): void {
    this.results.push(result);
    this.append(result);
  }

  addDuration(duration: Duration): void {
    this.durations.push(duration);
    this.append(duration);
  }

  /** Returns what is known of a suite: the files that have a result, the sums of the counts, and the seconds. */
  of(suite: string) {
    const results = this.results.filter((result) => result.suite === suite);
    const durations = this.durations.filter((duration) => duration.suite === suite);
    return {
      files: results.map(({ file }) => file),
      passed: sum(results.map(({ passed }) => passed)),
      failed: sum(results.map(({ failed }) => failed)),
      skipped: sum(results.map(({ skipped }) => skipped)),
      seconds: sum(durations.map(({ seconds }) => seconds)),
    };
  }

  private append(entry: FileResult | Duration): void {
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`);
  }
}
