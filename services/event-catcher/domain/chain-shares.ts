/** An event catcher, as the others see it when they divide the chains. */
export interface CatcherLoad {
  id: string;
  /** The chains that it could follow now. */
  serves: readonly number[];
  /** The chains that it follows. */
  followed: readonly number[];
}

/**
 * Returns the chains that a catcher gives away: those beyond its fair share, as far as catchers that follow fewer can
 * take them. Shares are equal; if the chains cannot be divided equally, the catchers with most keep one chain more.
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

/** Whether a catcher takes a chain that was given away: no other catcher that could follow it has fewer chains. */
export const isNext = (own: CatcherLoad, able: readonly CatcherLoad[]): boolean =>
  able.every(({ followed }) => own.followed.length <= followed.length);
