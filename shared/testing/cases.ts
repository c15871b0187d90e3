/** What share of the cases of a property is drawn: an eighth, unless `npm run test:all` or `CASES=0.01` sets another. */
const share = Number(process.env['CASES'] ?? 1 / 8);

/** Returns how many cases are drawn of a property that has to hold for so many. */
export const casesOf = (all: number): number => Math.ceil(all * share);
