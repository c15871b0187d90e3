import { describe, expect, it } from '@jest/globals';
import { casesIn, readCases } from './conformance-case.ts';

const aCase = (steps: string, more = ''): string => `
- id: a-case
  title: A title
  promise: A promise
  ${more}
  steps:
    ${steps}
`;

describe('cases of the stream', () => {
  it('are read from their files, each with an id of its own', () => {
    const ids = readCases().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(['handshake/no-token', 'resume/cut-socket', 'resume/cut-pages']));
  });

  it('need a development chain if one of their steps does, and what they name themselves', () => {
    const needsOf = (text: string) => casesIn('some.yaml', text).map(({ needs }) => [...needs]);
    expect(needsOf(aCase('- emit: { values: [1] }'))).toEqual([[]]);
    expect(needsOf(aCase('- snapshot:'))).toEqual([['development chain']]);
    expect(needsOf(aCase('- finalize:', 'needs: [public chain]'))).toEqual([['public chain', 'development chain']]);
  });

  it('are run once for each way to read that they name', () => {
    const cases = casesIn('some.yaml', aCase('- open: { as: a, over: $over }', 'over: [socket, pages]'));
    expect(cases.map(({ id, values }) => [id, values])).toEqual([
      ['some/a-case-socket', { over: 'socket' }],
      ['some/a-case-pages', { over: 'pages' }],
    ]);
  });

  it.each([
    ['[', 'wrong.yaml is not YAML: '],
    ['id: a', 'wrong.yaml must be a list of cases'],
    ['- id: A b', 'wrong.yaml, case 1: id: is lower-case letters, digits and -; title: '],
    [aCase('- emit: { values: [1] }', 'titel: A'), 'wrong.yaml, case 1: Unrecognized key: "titel"'],
    [aCase('- send: {}'), 'wrong.yaml, case 1 (a-case), step 1: there is no step send, only connect, '],
    [aCase('- emit: { values: [0] }'), 'wrong.yaml, case 1 (a-case), step 1, emit: values.0: Too small'],
    [
      aCase('- emit: { values: [1], block: 2 }'),
      'wrong.yaml, case 1 (a-case), step 1, emit: Unrecognized key: "block"',
    ],
    [
      aCase('- page: { expect: { $like: a } }'),
      'wrong.yaml, case 1 (a-case), step 1, page: expect: there is no operator $like',
    ],
    [
      aCase('- { snapshot: , finalize: }'),
      'wrong.yaml, case 1 (a-case), step 1: has snapshot, finalize; a step has one name',
    ],
    [aCase('- snapshot:') + aCase('- snapshot:'), 'wrong.yaml, case 2: another case has the id a-case'],
  ])('that are wrong are refused with the place: %j', (text, says) => {
    expect(() => casesIn('wrong.yaml', text)).toThrow(says);
  });
});
