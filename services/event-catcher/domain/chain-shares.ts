/** What is known of an event catcher where chains are divided. */
export interface CatcherLoad {
  id: string;
  /** The chains that it can follow now. */
  serves: readonly number[];
  /** Those that it follows. */
  followed: readonly number[];
}

/**
 * Returns the chains that a catcher gives to others: those beyond its share, as far as others can follow them that have
 * less than theirs. Shares are equal, but for one chain more at those that follow most.
 */
export const surplusOf = (own: CatcherLoad, others: readonly CatcherLoad[]): number[] => {
  const all = [own, ...others].sort(
    (one, other) => other.followed.length - one.followed.length || (one.id < other.id ? -1 : 1),
  );
  const total = all.reduce((sum, { followed }) => sum + followed.length, 0);
  const shares = new Map(
    all.map(({ id }, at) => [id, Math.floor(total / all.length) + (at < total % all.length ? 1 : 0)]),
  );
  const beyond = ({ id, followed }: CatcherLoad): number => followed.length - (shares.get(id) ?? 0);
  const takers = others.filter((other) => beyond(other) < 0);
  return own.followed
    .filter((chainId) => takers.some(({ serves }) => serves.includes(chainId)))
    .slice(0, Math.max(0, beyond(own)));
};

/** Whether a catcher is to take a chain that was given away: none of the others that can follow it has fewer. */
export const isNext = (own: CatcherLoad, able: readonly CatcherLoad[]): boolean =>
  able.every(({ followed }) => own.followed.length <= followed.length);
