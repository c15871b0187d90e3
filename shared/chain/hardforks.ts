/** Hard forks of Ethereum, oldest first. */
export const HARDFORKS = ['london', 'prague', 'osaka'] as const;
export type Hardfork = (typeof HARDFORKS)[number];
