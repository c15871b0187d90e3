import type { Channel } from '../domain/channel.ts';
import { channelName } from '../domain/channel.ts';
import { resumePointAfter } from '../../../shared/keys/stream-cursors.ts';
import type { Delivery } from '../domain/delivery.ts';
import { Subscription, type SendBuffer } from '../domain/subscription.ts';

export const channel: Channel = {
  watchId: 'wch_1',
  chainId: 1,
  contractAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  eventSignature: 'Transfer(uint256)',
  finality: 'latest',
};

/** A change of the channel at a position. */
export const changeAt = (position: number, blockNumber = 100): Delivery => ({
  channel: channelName(channel),
  position,
  blockNumber,
  cursor: `after ${String(position)}`,
  json: JSON.stringify({ position }),
});

/** A client that has room for so many changes, and records which positions it was sent and which it missed. */
export class RecordingClient implements SendBuffer {
  readonly sent: number[] = [];
  readonly missed: number[] = [];
  /** For each wait, how many changes had been sent before. */
  readonly waits: number[] = [];
  private waiting = 0;

  constructor(public room = Infinity) {}

  get hasRoom(): boolean {
    return this.waiting < this.room;
  }

  send({ position }: Delivery): void {
    this.waiting += 1;
    this.sent.push(position);
  }

  countMissed({ position }: Delivery): void {
    this.missed.push(position);
  }

  drained(signal: AbortSignal): Promise<void> {
    this.waits.push(this.sent.length);
    this.waiting = 0;
    return signal.aborted ? Promise.reject(new Error('the subscription has ended')) : Promise.resolve();
  }
}

/** A subscription to the channel after position 3, its client, and the positions at which it fell behind. */
export const someSubscription = ({ room = Infinity, fromBlock = 0 } = {}) => {
  const client = new RecordingClient(room);
  const behind: number[] = [];
  const subscription = new Subscription({
    ...{ id: 'sub_1', channel, buffer: client, resumePoint: resumePointAfter(3), fromBlock },
    yieldToOthers: () => Promise.resolve(),
    onFallBehind: ({ resumePoint }) => behind.push(resumePoint.position),
  });
  return { subscription, client, behind };
};
