import { describe, expect, it } from '@jest/globals';
import { mongoFilter, mongoPath, mongoSort } from './mongo-filter.ts';

describe("a filter in MongoDB's language", () => {
  it('looks for members in the newest document, and for the id where MongoDB has it', () => {
    expect(mongoPath('id')).toBe('_id');
    expect(mongoPath('Data.to')).toBe('newest.document.Data.to');
    expect(mongoPath('Data.$where')).toBe('newest.document.Data.%IiR3aGVyZSI');
    expect(
      mongoSort([
        ['id', 'desc'],
        ['BlockNumber', 'asc'],
      ]),
    ).toEqual({ _id: -1, 'newest.document.BlockNumber': 1 });
  });

  it.each([
    ['text', 'ada', { $eq: 'ada' }],
    ['a number', 7, { $eq: 7 }],
    ['a truth', false, { $eq: false }],
    ['nothing', null, { $eq: null }],
    ['text that UTF-8 cannot hold', '\ud800', { $eq: { '%': '"\\ud800"' } }],
    ['one of several, of which nothing is none', { in: ['a', null, 7] }, { $in: ['a', 7] }],
    ['a range', { gte: 1, lt: 9 }, { $gte: 1, $lt: 9 }],
    ['a range without its ends', { gt: 'a', lte: 'z' }, { $gt: 'a', $lte: 'z' }],
    ['a range without a bound, which is everything', {}, { $nin: [] }],
    ['a range with nothing as a bound, which is empty', { gte: 1, lt: null }, { $in: [] }],
  ])('compares with %s', (_, wanted, condition) => {
    expect(mongoFilter({ name: wanted })).toEqual({ 'newest.document.name': condition });
  });

  it.each([{ in: [{ $gt: '' }] }, { gte: { $gt: '' } }, { gte: ['a'] }])(
    'refuses %j: what a caller gives is data, never an operator',
    (wanted) => {
      expect(() => mongoFilter({ name: wanted as unknown as string })).toThrow('a filter value must be');
    },
  );
});
