import type { Finality, Subscribe } from '../../../../schemas/socket/stream-commands.ts';
import type { StreamPage } from '../../../../schemas/http/stream/stream-routes.ts';
import type { Claimant } from '../../../../shared/chain/identifiers/claimant.ts';
import { invalid } from '../../../../shared/errors/refusal.ts';
import type { Cursors, ResumePoint } from '../../../../shared/keys/stream-cursors.ts';
import { channelKey, cursorScope, type Channel } from '../../domain/channel.ts';
import { historyOf, type Feed } from '../../domain/feed.ts';
import type { SubscriptionCommands } from '../../domain/subscriber.ts';
import type { PageRequest } from './page-request.ts';

interface StreamPagesOptions {
  feeds: Record<Finality, Feed>;
  findChannel: (command: Subscribe, claimant: Claimant | undefined) => Promise<Channel>;
  subscriptions: SubscriptionCommands;
  cursors: Cursors;
  /** Yields to other work before the next piece is read. */
  yieldToOthers: () => Promise<void>;
}

/** A page as text, because its items are encoded already. */
export interface WrittenPage {
  json: string;
  /** Set for a page that never changes: the same for whoever asks with its cursor. */
  etag: string | undefined;
  cursor: string;
  live: boolean;
}

/** Answers pages of a channel: of its records from a block on, then of the changes after a cursor. */
export class StreamPages {
  constructor(private readonly options: StreamPagesOptions) {}

  /** @throws Refusal, as `SubscriptionCommands.open` does */
  async read(request: PageRequest, command: Subscribe): Promise<WrittenPage> {
    const { findChannel, subscriptions, cursors } = this.options;
    const channel = await findChannel(command, request.claimant);
    const { cursor: asked, fromBlock, ...rest } = command;
    if (asked !== undefined && fromBlock !== undefined)
      throw invalid({ path: 'fromBlock', message: 'is not given together with cursor' });
    const requested =
      asked === undefined ? undefined : cursors.read([cursorScope(channel), channelKey(channel)], asked);
    const begin: ResumePoint | undefined =
      fromBlock === undefined ? requested : { position: 0, newestAtMs: undefined, historyFrom: fromBlock };
    const end = begin && historyOf(begin) && (await this.addHistory(request, channel, begin));
    const from = end ? cursors.write(cursorScope(channel), end) : asked;
    if (end && (historyOf(end) !== undefined || request.isFull)) return pageOf(request, from ?? '', true);
    let cursor = '';
    const ofHistory = request.deliveries.length;
    await subscriptions.open(request, { ...rest, ...(from !== undefined && { cursor: from }) }, (answer) => {
      ({ cursor } = answer);
      // From now on: there is nothing to catch up with.
      if (from === undefined) request.goLive(cursor);
    });
    try {
      await request.complete();
      const { deliveries } = request;
      // The next page tells of the gap.
      if (request.gap && ofHistory > 0) {
        request.gap = null;
        return pageOf(request, from ?? cursor, true);
      }
      const last = deliveries.length > ofHistory ? deliveries.at(-1)?.cursor : undefined;
      const given = { cursor, at: end ?? requested };
      return pageOf(request, last ?? this.emptyPageCursor(request, channel, given), end !== undefined);
    } finally {
      subscriptions.closeAll(request);
    }
  }

  /** Adds the next records of a history. @returns where the history goes on, or the changes after it begin */
  private async addHistory(request: PageRequest, channel: Channel, begin: ResumePoint): Promise<ResumePoint> {
    const { feeds, yieldToOthers } = this.options;
    let at = begin;
    for (let history = historyOf(at); history; history = historyOf(at)) {
      await yieldToOthers();
      // It also has no room once a stopping node, or the time, has ended it.
      const limit = request.room;
      if (limit === 0) break;
      const pages = feeds[channel.finality].currentRecords(channel, { ...history, limit });
      const { value: page } = await pages.next();
      if (!page) break;
      request.deliveries.push(...page.deliveries);
      at = page.end;
    }
    return at;
  }

  /**
   * Returns the cursor that was given. If the page had to be answered before anything was found, returns how far the
   * search came. If the cursor is older than what this node has in memory, returns a newer one: each further request
   * would read all messages since then again, and once they are deleted, would be told of a gap.
   */
  private emptyPageCursor(
    request: PageRequest,
    channel: Channel,
    { cursor, at }: { cursor: string; at: ResumePoint | undefined },
  ): string {
    const { feeds, cursors } = this.options;
    if (request.gap) return request.gap.resumeWith;
    const [subscription] = request.subscriptions.values();
    if (!at) return cursor;
    if (request.liveAt === undefined) {
      const hasComeFurther = subscription && subscription.resumePoint.position > at.position;
      return hasComeFurther ? cursors.write(cursorScope(channel), subscription.resumePoint) : cursor;
    }
    return channel.finality === 'finalized' || feeds.latest.recent(channel, at.position) ? cursor : request.liveAt;
  }
}

const pageOf = ({ deliveries, gap, liveAt, isFull }: PageRequest, cursor: string, hasHistory: boolean): WrittenPage => {
  const items = gap ? [] : deliveries;
  const live = liveAt !== undefined && !isFull;
  const rest: Omit<StreamPage, 'items'> = { cursor, live, gap };
  const json = `{"items":[${items.map((delivery) => delivery.json).join(',')}],${JSON.stringify(rest).slice(1)}`;
  const etag = isFull && !gap && !hasHistory ? `"${cursor}"` : undefined;
  return { json, etag, cursor, live };
};
