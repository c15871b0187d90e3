/** One version of a read model under its name in this release: the same fold, filled at another time. */
export interface StoredVersion {
  number: number;
  /**
   * `filling`: a projector fills it. `paused`: only erasures reach it. `ready`: it was compared, and is kept up to
   * date. `dropping`: nothing reads or writes it any more.
   */
  state: 'filling' | 'paused' | 'ready' | 'dropping';
  /** Maximum events per second while it is filled. */
  rate: number | null;
}

/** The versions of one read model, and which one queries read. Stored, and changes by addition only. */
export interface StoredVersions {
  current: number;
  /** The number of the next version. No number is used twice. */
  next: number;
  versions: readonly StoredVersion[];
}

/** The versions of a read model that was never rebuilt. */
export const FIRST_ONLY: StoredVersions = {
  current: 1,
  next: 2,
  versions: [{ number: 1, state: 'ready', rate: null }],
};

/** The name under which a collection or a projection of this version is stored. That of the first has no number. */
export const nameInVersion = (name: string, number: number): string =>
  number === 1 ? name : `${name}.${String(number)}`;
