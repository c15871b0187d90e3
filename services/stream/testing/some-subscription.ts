import type { Channel } from '../domain/channel.ts';
import { channelName } from '../domain/channel.ts';
import { placeOf } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import { Subscription, type SendBuffer } from '../domain/subscription.ts';

export const channel: Channel = {
  chainId: 1,
  contractAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  eventSignature: 'Transfer(uint256)',
  finality: 'latest',
};

/** A change of the channel. */
export const changeAt = (position: number, blockNumber = 100): Delivery => ({
  channel: channelName(channel),
  position,
  blockNumber,
  json: JSON.stringify({ position }),
});

/** A client that takes so many changes at a time, and writes down by position what becomes of each. */
export class RecordingClient implements SendBuffer {
  readonly sent: number[] = [];
  readonly unsent: number[] = [];
  /** What was sent before each wait. */
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

  missed({ position }: Delivery): void {
    this.unsent.push(position);
  }

  drained(signal: AbortSignal): Promise<void> {
    this.waits.push(this.sent.length);
    this.waiting = 0;
    return signal.aborted ? Promise.reject(new Error('it ended')) : Promise.resolve();
  }
}

/** A subscription of the channel behind position 3, and what its client and its feed see of it. */
export const someSubscription = ({ room = Infinity, fromBlock = 0 } = {}) => {
  const client = new RecordingClient(room);
  const behind: number[] = [];
  const subscription = new Subscription({
    ...{ id: 'sub_1', channel, buffer: client, place: placeOf(3), fromBlock },
    fellBehind: ({ place }) => behind.push(place.position),
  });
  return { subscription, client, behind };
};
