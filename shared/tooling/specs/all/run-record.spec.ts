import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { RunRecord } from './run-record.ts';

const RUN = { commit: 'c0ffee', draws: { CASES_SEED: '7' } };
const RESULT = { suite: 'unit', file: 'a.spec.ts', passed: 3, failed: 1, skipped: 2 };

describe('the record of a run', () => {
  let path: string;
  let record: RunRecord;
  beforeEach(() => {
    path = join(temporaryFolder(), 'kept', 'results.ndjson');
    record = RunRecord.begin(path, RUN);
  });

  it('sums up each suite, also once it is opened again', () => {
    record.addResult(RESULT);
    record.addResult({ ...RESULT, file: 'b.spec.ts', failed: 0 });
    record.addResult({ ...RESULT, suite: 'long' });
    record.addDuration({ suite: 'unit', seconds: 5 });
    record.addDuration({ suite: 'unit', seconds: 2 });
    for (const known of [record, RunRecord.open(path, 'c0ffee')]) {
      expect(known.run).toEqual(RUN);
      expect(known.of('unit')).toEqual({
        files: ['a.spec.ts', 'b.spec.ts'],
        passed: 6,
        failed: 1,
        skipped: 4,
        seconds: 7,
      });
      expect(known.of('geth')).toEqual({ files: [], passed: 0, failed: 0, skipped: 0, seconds: 0 });
    }
  });

  it('goes on behind a line that a kill has cut off', () => {
    record.addResult(RESULT);
    appendFileSync(path, '{"suite":"unit","file":"b.s');
    RunRecord.open(path, 'c0ffee').addResult({ ...RESULT, file: 'c.spec.ts' });
    expect(RunRecord.open(path, 'c0ffee').of('unit').files).toEqual(['a.spec.ts', 'c.spec.ts']);
  });

  it('does not go on for another commit, or without a last run', () => {
    expect(() => RunRecord.open(path, 'decade')).toThrow(
      'The last run was of commit c0ffee, not of decade: run again without --continue.',
    );
    expect(() => RunRecord.open(`${path}.none`, 'c0ffee')).toThrow('There is no run to continue');
  });

  it('forgets the last run when another begins', () => {
    record.addResult(RESULT);
    RunRecord.begin(path, RUN);
    expect(RunRecord.open(path, 'c0ffee').of('unit').files).toEqual([]);
  });
});
