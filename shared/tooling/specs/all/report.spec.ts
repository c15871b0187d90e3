import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { announcement, closingTable, progress } from './report.ts';
import { RunRecord } from './run-record.ts';

const UNIT = { name: 'unit', about: 'rules', minutes: 2, files: ['a', 'b', 'c', 'd'] };
const SYSTEMS = { name: 'end-to-end', about: 'systems', minutes: 10, files: ['e', 'f'] };
const PLAN = [UNIT, SYSTEMS];

const recordOf = (...results: readonly { suite: string; file: string; failed?: number }[]): RunRecord => {
  const record = RunRecord.begin(join(temporaryFolder(), 'results.ndjson'), { commit: 'c0ffee', draws: {} });
  for (const result of results) record.addResult({ passed: 10, failed: 0, skipped: 0, ...result });
  return record;
};
const UNIT_DONE = ['a', 'b', 'c', 'd'].map((file) => ({ suite: 'unit', file }));

describe('the report of a full run', () => {
  it('says at its beginning what runs, and for how long', () => {
    expect(announcement(PLAN).split('\n')).toEqual([
      'This takes about 12 min on two cores that do nothing else:',
      '  unit        4 files   2 min  rules',
      '  end-to-end  2 files  10 min  systems',
    ]);
  });

  it('says how far a suite is, and how long the run still takes, as slow as the suites before', () => {
    const record = recordOf(...UNIT_DONE, { suite: 'end-to-end', file: 'e', failed: 1 });
    // The first suite takes two minutes usually.
    record.addDuration({ suite: 'unit', seconds: 240 });
    expect(progress(PLAN, record, SYSTEMS, 300)).toBe(
      'end-to-end: 1 of 2 files, 10 passed, 1 failed, 5 min; about 15 min left',
    );
    // An earlier run had begun the suite.
    record.addDuration({ suite: 'end-to-end', seconds: 600 });
    expect(progress(PLAN, record, SYSTEMS, 300)).toBe(
      'end-to-end: 1 of 2 files, 10 passed, 1 failed, 15 min; about 5 min left',
    );
  });

  it('supposes the usual duration of the first suite, and promises nothing for a suite that takes longer', () => {
    expect(progress(PLAN, recordOf(), UNIT, 60)).toBe(
      'unit: 0 of 4 files, 0 passed, 0 failed, 1 min; about 11 min left',
    );
    expect(progress(PLAN, recordOf(), UNIT, 6_000)).toBe(
      'unit: 0 of 4 files, 0 passed, 0 failed, 100 min; about 10 min left',
    );
  });

  it('ends with a table, and the sum of all counts as its last line', () => {
    const record = recordOf(...UNIT_DONE, { suite: 'end-to-end', file: 'e', failed: 2 });
    record.addDuration({ suite: 'unit', seconds: 61 });
    record.addDuration({ suite: 'end-to-end', seconds: 700 });
    expect(closingTable(PLAN, record).split('\n')).toEqual([
      'suite       passed  failed  skipped  seconds',
      'unit            40       0        0       61',
      'end-to-end      10       2        0      700',
      'all             50       2        0      761',
      '',
      '50 passed, 2 failed',
    ]);
  });
});
