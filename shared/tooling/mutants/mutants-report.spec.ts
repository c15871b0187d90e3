import { describe, expect, it } from '@jest/globals';
import { asText, reportOf } from './mutants-report.mjs';

const source = `export const isLate = (at: number): boolean => at > 10;
export const both = [
  1,
  2,
];
`;
const at = (line: number, column: number, endLine: number, endColumn: number) => ({
  start: { line, column },
  end: { line: endLine, column: endColumn },
});
const mutant = (status: string, file = 'rule.ts') => ({
  file,
  location: at(1, 48, 1, 55),
  replacement: 'at >= 10',
  status,
});
const report = (...mutants: Parameters<typeof reportOf>[0]) => reportOf(mutants, () => source);

describe('a report of mutants', () => {
  it('counts a mutant as found if a spec fails, but not if it times out or no spec runs it', () => {
    const some = ['Killed', 'Killed', 'Survived', 'Timeout', 'NoCoverage'].map((one) => mutant(one));
    expect(report(...some)).toMatchObject({ mutants: 5, found: 2, percent: 40 });
  });

  it('counts a mutant as found if a spec file cannot be loaded, but not if the worker fails', () => {
    const unloaded = { ...mutant('RuntimeError'), statusReason: 'TypeError: it is not a function' };
    const failed = { ...mutant('RuntimeError'), statusReason: 'Test runner crashed. Tried twice to restart it.' };
    expect(report(unloaded, failed)).toMatchObject({ mutants: 2, found: 1 });
  });

  it('leaves out mutants of code that only runs while its file is loaded', () => {
    expect(report(mutant('Killed'), mutant('Ignored'))).toMatchObject({ mutants: 1, found: 1, percent: 100 });
  });

  it('rounds percentages down', () => {
    const some = Array.from({ length: 2_000 }, (_, index) => mutant(index < 1_699 ? 'Killed' : 'Survived'));
    expect(report(...some).percent).toBe(84.9);
  });

  it('has each file separately, in order', () => {
    const { files } = report(mutant('Killed', 'b.ts'), mutant('Survived', 'a.ts'), mutant('Survived', 'b.ts'));
    expect(files.map(({ file, percent }) => [file, percent])).toEqual([
      ['a.ts', 0],
      ['b.ts', 50],
    ]);
  });

  it('shows the original line and the mutated one', () => {
    expect(report(mutant('Killed'), mutant('Survived')).files[0]?.survivors).toEqual([
      {
        location: 'rule.ts:1:48',
        outcome: 'no spec fails',
        original: 'export const isLate = (at: number): boolean => at > 10;',
        mutated: 'export const isLate = (at: number): boolean => at >= 10;',
      },
    ]);
  });

  it('shows several lines as one', () => {
    const [first] = report({ ...mutant('NoCoverage'), location: at(2, 21, 5, 2), replacement: '[]' }).files;
    expect(first?.survivors[0]).toMatchObject({
      outcome: 'no spec runs it',
      original: 'export const both = [ 1, 2, ];',
      mutated: 'export const both = [];',
    });
  });

  it('is printed as a text that ends with the sum', () => {
    expect(asText(report(mutant('Killed'), mutant('Timeout')), 85)).toBe(
      ` 50.0 % found, 1 of 2  rule.ts
  rule.ts:1:48  ran too long
    - export const isLate = (at: number): boolean => at > 10;
    + export const isLate = (at: number): boolean => at >= 10;
 50.0 % found, 1 of 2; at least 85 % are required`,
    );
  });
});
