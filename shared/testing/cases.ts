/** The share of a property's cases that a spec draws: an eighth by default. `npm run test:all` draws all, `CASES=0.01` a hundredth. */
const share = Number(process.env['CASES'] ?? 1 / 8);

/** Returns how many cases are drawn of a property that has to hold for so many. */
export const casesOf = (all: number): number => Math.ceil(all * share);
