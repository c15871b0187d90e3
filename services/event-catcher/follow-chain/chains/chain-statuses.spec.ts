import { describe, expect, it } from '@jest/globals';
import type { CatcherAnnouncement } from '../../../../schemas/announcements.ts';
import { ChainStatuses } from './chain-statuses.ts';

const watch = { id: 'wch_1', chainId: 7 };
const rates = { eventsPerSecond: 50, blocksPerSecond: 5 };
const said = (changes: Partial<CatcherAnnouncement>): CatcherAnnouncement => ({
  ...{ chainIds: [7], failing: [], followed: [], statuses: [] },
  ...changes,
});
const backfills = [{ watchIds: ['wch_0', 'wch_1'], ...rates, error: 'history pruned', warning: 'extended too far' }];
const follows = said({ followed: [7], statuses: [{ chainId: 7, error: 'contradicted', warning: 'still', backfills }] });
const couldNot = said({ failing: [7], statuses: [{ chainId: 7, error: 'no provider', warning: null, backfills: [] }] });

/** An event catcher, and the announcements of others. */
const beside = (
  own: CatcherAnnouncement,
  ...others: { document: CatcherAnnouncement; isAlive?: boolean; isSilent?: boolean }[]
) => {
  const here = {
    statuses: () => [7, 8].map((chainId) => ({ chainId, error: 'own error', warning: null, backfills: [] })),
    statusOf: ({ chainId }: { chainId: number }) => ({
      ...{ eventsPerSecond: 1, blocksPerSecond: 1, warning: 'own warning' },
      error: chainId === 9 ? null : 'own error',
    }),
  };
  const known = () => [
    { id: 'own', isAlive: true, isSilent: false, document: couldNot },
    ...others.map(({ document, isAlive = true, isSilent = !isAlive }, at) => ({
      ...{ id: String(at), document },
      ...{ isAlive, isSilent },
    })),
  ];
  return new ChainStatuses({ shares: { id: 'own', announcement: own }, here, catchers: { known } });
};

describe('what is known of a watch', () => {
  it('is what the event catcher announces that follows its chain', () => {
    for (const own of [said({}), couldNot]) {
      const statuses = beside(own, { document: couldNot }, { document: follows });
      expect(statuses.statusOf(watch)).toEqual({ ...rates, error: 'history pruned', warning: 'extended too far' });
      const ofChain = { eventsPerSecond: 0, blocksPerSecond: 0, error: 'contradicted', warning: 'still' };
      expect(statuses.statusOf({ ...watch, id: 'wch_other' })).toEqual(ofChain);
    }
  });

  it('is what this one knows if it follows the chain, whatever others announced last', () => {
    const statuses = beside(said({ followed: [7] }), { document: follows });
    const own = { eventsPerSecond: 1, blocksPerSecond: 1, error: 'own error', warning: 'own warning' };
    expect(statuses.statusOf(watch)).toEqual(own);
  });

  it('is why the chain could not be followed while nobody follows it', () => {
    expect(beside(said({}), { document: couldNot }).statusOf(watch).error).toBe('no provider');
    expect(beside(couldNot, { document: follows, isAlive: false }).statusOf(watch).error).toBe('own error');
  });

  it('is that nobody follows its chain, if no event catcher that runs is to', () => {
    const unserved = { id: 'wch_9', chainId: 9 };
    const names = said({ chainIds: [9] });
    const nobody = 'no event catcher follows chain 9: start one whose CHAINS names it';
    expect(beside(said({})).statusOf(unserved).error).toBe(nobody);
    expect(beside(said({}), { document: names, isAlive: false }).statusOf(unserved).error).toBe(nobody);
    expect(beside(said({}), { document: names }).statusOf(unserved).error).toBeNull();
    expect(beside(names).statusOf(unserved).error).toBeNull();
    // A catcher that has been known only briefly may still be running.
    const seen = { document: names, isAlive: false, isSilent: false };
    expect(beside(said({}), seen).statusOf(unserved).error).toBeNull();
  });

  it('is announced of chains that are followed, and of those that could not be', () => {
    const own = beside(said({ followed: [8] })).announcement;
    expect(own).toMatchObject({ followed: [8], statuses: [{ chainId: 8, error: 'own error' }] });
    expect(beside(said({ failing: [7] })).announcement.statuses).toMatchObject([{ chainId: 7 }]);
    expect(beside(said({})).announcement.statuses).toEqual([]);
  });
});
