import { isDeepStrictEqual } from 'node:util';
import type { Announcement, Coordination, Counted, Lease, PointsToAdd } from '../../coordination/coordination.ts';

/** Leases, counters and announcements of tests and simulations. */
export class MemoryCoordination implements Coordination {
  private readonly leases = new Map<string, Lease>();
  private readonly counts = new Map<string, Counted>();
  private readonly announced = new Map<string, Map<string, string>>();

  lease(name: string): Promise<Lease | undefined> {
    return Promise.resolve(this.leases.get(name));
  }

  replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean> {
    const isCurrent = isDeepStrictEqual(this.leases.get(name), expected);
    if (isCurrent) this.leases.set(name, { ...next });
    return Promise.resolve(isCurrent);
  }

  renewLease(name: string, { holder, epoch }: Pick<Lease, 'holder' | 'epoch'>): Promise<Lease | undefined> {
    const current = this.leases.get(name);
    if (current?.holder !== holder || current.epoch !== epoch) return Promise.resolve(undefined);
    const renewed = { ...current, renewals: current.renewals + 1 };
    this.leases.set(name, renewed);
    return Promise.resolve(renewed);
  }

  addPoints(added: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    const counted = added.map(({ id, points, windowMs }) => {
      const before = this.counts.get(id);
      const lasts = before !== undefined && before.endsAt > nowMs;
      const after = lasts ? { ...before, points: before.points + points } : { points, endsAt: nowMs + windowMs };
      this.counts.set(id, after);
      return [id, { ...after }] as const;
    });
    return Promise.resolve(new Map(counted));
  }

  forgetPoints(nowMs: number): Promise<void> {
    for (const [id, { endsAt }] of this.counts) if (endsAt <= nowMs) this.counts.delete(id);
    return Promise.resolve();
  }

  announce(kind: string, announcement: Announcement): Promise<void> {
    const ofKind = this.announced.get(kind) ?? new Map<string, string>();
    this.announced.set(kind, ofKind.set(announcement.id, JSON.stringify(announcement)));
    return Promise.resolve();
  }

  announcements(kind: string): Promise<Announcement[]> {
    const texts = [...(this.announced.get(kind)?.values() ?? [])];
    return Promise.resolve(
      texts.map((text) => JSON.parse(text) as Announcement).sort((one, other) => (one.id < other.id ? -1 : 1)),
    );
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    const current = (await this.announcements(kind)).find((announcement) => announcement.id === id);
    if (current?.renewals === renewals) this.announced.get(kind)?.delete(id);
  }
}
