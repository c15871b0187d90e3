import { readSponsorship } from '../../onchain/sponsorship-administration.ts';
import type { Wallet } from 'ethers';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { commandRefused, subscribed } from '../../../schemas/socket/stream-commands.ts';
import { topics } from '../../../schemas/topics.ts';
import { remoteIssuer } from '../../../shared/auth/access-tokens.jose.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { callUntilServed, redeemChallenge, type Answered } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { ALLOWS_ALL, SendsUnderTest, type SendingApp } from '../../onchain/testing/sends-under-test.ethers.ts';
import { CHAIN_ID } from '../../event-catcher/testing/routes/catcher-fixtures.ts';
import { serveCatcherRoutes } from '../../event-catcher/testing/routes/catcher-routes.module.ts';
import { startRelay } from '../../relay/relay.ts';
import { startStream } from '../../stream/stream.module.ts';
import { StreamClient } from '../../stream/testing/stream-client.socketio.ts';
import { caughtUp } from '../fuzzer/projected.ts';
import type { Tenant } from './tenants-model.ts';

const ETHER = 10n ** 18n;
/** A login may link for five minutes. */
const RENEWED_MS = 4 * 60_000;

type Named = Record<'contractAddress' | 'eventSignature', string> & { watchId?: string };

/** A user in an app, or an app itself, with a session and two sockets. */
export class CallingTenant implements Tenant {
  /** An own member, so that copies without the user keep it. */
  readonly app: string;
  private bearer = { authorization: '' };
  private signedInAt = -Infinity;
  private sockets: { listening: StreamClient; asking: StreamClient } | undefined;

  constructor(
    private readonly sends: SendsUnderTest,
    private readonly streamUrl: string,
    readonly sending: SendingApp,
    readonly user: string | null,
    private readonly wallet: Wallet | null,
  ) {
    this.app = sending.id;
  }

  async ask(url: string, { method = 'GET', body }: { method?: string; body?: object } = {}): Promise<Answered> {
    await this.renew();
    return callUntilServed(url, { method, body, headers: this.bearer });
  }

  async link(wallet: Wallet): Promise<Answered> {
    await this.renew();
    return redeemChallenge({ accountUrl: this.sends.service.url, app: this.sending }, wallet, this.bearer);
  }

  /**
   * Subscribes on the listening socket.
   * @returns the id of the subscription and of its watch, or the reason for a refusal
   */
  async subscribe(named: Named) {
    return subscribeOn((await this.renew()).listening, named);
  }

  /** Returns the watch to which a subscription would belong, or the reason for a refusal. */
  async meantBy(named: Named): Promise<string> {
    const { asking } = await this.renew();
    const answer = await subscribeOn(asking, named);
    if (answer.id !== undefined) await asking.request('unsubscribe', { subscriptionId: answer.id });
    return answer.watchId;
  }

  /** Waits until a name means this, because the stream keeps the watches that others claim for half a second. */
  async untilMeant(named: Named, expected: string): Promise<string> {
    const isMeant = async () => (await this.meantBy(named)) === expected;
    await eventually(isMeant, 1_000, `${JSON.stringify(named)} must mean ${expected}`);
    return expected;
  }

  /** Ends a subscription of the listening socket. @returns the reason for a refusal */
  async unsubscribe(subscriptionId: string): Promise<string | undefined> {
    return refusalIn(await (await this.renew()).listening.request('unsubscribe', { subscriptionId }));
  }

  /** Sends another tenant's token on the listening socket. @returns the reason for a refusal */
  async showTokenOf(other: CallingTenant): Promise<string | undefined> {
    await other.renew();
    return refusalIn(await (await this.renew()).listening.request('refresh', { token: other.token }));
  }

  /** Returns once the subscription is stopped, because its watch is gone. */
  async untilStopped(subscriptionId: string): Promise<void> {
    const { listening } = await this.renew();
    const isIt = (sent: StreamClient['messages'][number]) =>
      sent.name === 'stopped' && sent.message.subscriptionId === subscriptionId;
    await eventually(
      () => listening.messages.some(isIt),
      5_000,
      'a subscription must be stopped when the last claim of its watch is dropped',
    );
    listening.messages.splice(listening.messages.findIndex(isIt), 1);
  }

  /**
   * Takes the messages of the listening socket, once it has received this many events: blocks and watches, or other
   * messages.
   */
  async received(count: number): Promise<string[]> {
    const { listening } = await this.renew();
    await listening.waitForEvents(count);
    return listening.messages.splice(0).flatMap((sent) => {
      if (sent.name === 'state') return [];
      if (sent.name !== 'event') return [JSON.stringify(sent)];
      const { channel, event } = sent.message;
      return [
        `${String(event.BlockNumber)} ${event.WatchId}${channel.startsWith(event.WatchId) ? '' : ` on ${channel}`}`,
      ];
    });
  }

  close(): void {
    this.sockets?.listening.close();
    this.sockets?.asking.close();
  }

  private get token(): string {
    return this.bearer.authorization.slice('Bearer '.length);
  }

  private async renew() {
    if (this.sockets && Date.now() - this.signedInAt < RENEWED_MS) return this.sockets;
    const { sends, sending, wallet } = this;
    ({ bearer: this.bearer } = await (wallet ? sends.sender(sending, wallet) : sends.appItself(sending)));
    this.signedInAt = Date.now();
    const { token } = this;
    for (const socket of Object.values(this.sockets ?? {})) {
      const refusal = refusalIn(await socket.request('refresh', { token }));
      if (refusal !== undefined) throw new Error(`a new token of the same tenant is refused: ${refusal}`);
    }
    this.sockets ??= {
      listening: await StreamClient.connect(this.streamUrl, token),
      asking: await StreamClient.connect(this.streamUrl, token),
    };
    return this.sockets;
  }
}

const refusalIn = (answer: unknown): string | undefined => commandRefused.safeParse(answer).data?.error.code;

const subscribeOn = async (client: StreamClient, named: Named): Promise<{ id?: string; watchId: string }> => {
  const answer = await client.request('subscribe', { chainId: CHAIN_ID, ...named });
  const refusal = refusalIn(answer);
  if (refusal !== undefined) return { watchId: refusal };
  const { subscriptionId: id, channel } = subscribed.parse(answer);
  return { id, watchId: channel.slice(0, channel.indexOf('/')) };
};

/**
 * Two apps with users, one of whom uses both; a third party's app, which that user uses too; and an app whose user
 * claims nothing and listens to everything. All three services serve them, on one event store in memory and one real
 * chain.
 */
export const startTenants = async (folder: string, settings: Record<string, string>) => {
  const sends = await SendsUnderTest.start(folder, {
    depositWei: 100n * ETHER,
    settings,
  });
  const { service: account } = sends;
  const messageBus = new MemoryMessageBus();
  await messageBus.createTopics(Object.values(topics));
  const foundation = { ...sends.foundation, messageBus };
  const issuer = remoteIssuer(account.publicUrl, account.url + accountRoutes.publicKeys.path);
  const catcher = await serveCatcherRoutes(sends.foundation, issuer);
  const relay = startRelay(foundation);
  const stream = await startStream(foundation, issuer, { eventUrl: catcher.service.url });
  foundation.processHealth.report({ stream });
  await eventually(async () => (await fetch(`${stream.url}/health/ready`)).ok, 5_000, 'the stream must become ready');

  const apps = {
    one: await sends.app(),
    /** This app also pays for sends of other apps' sessions. */
    generous: await sends.app({ ...ALLOWS_ALL, anySession: true }),
    theirs: await sends.app(ALLOWS_ALL, true),
  };
  const users = [randomWallet(), randomWallet(), randomWallet()] as const;
  const tenant = (app: SendingApp, wallet: Wallet | null) =>
    new CallingTenant(sends, stream.url, app, wallet?.address.toLowerCase() ?? null, wallet);
  const [shared, second, third] = users;
  const tenants = [
    ...[null, shared, second].map((wallet) => tenant(apps.one, wallet)),
    ...[null, shared, third].map((wallet) => tenant(apps.generous, wallet)),
    tenant(apps.theirs, shared),
  ];
  const listener = tenant(await sends.app(null), randomWallet());
  return {
    foundation,
    apps,
    users,
    tenants,
    listener,
    accountUrl: account.url,
    eventUrl: catcher.service.url,
    paidBy: async (app: SendingApp) => (await readSponsorship(sends.foundation, app.id)).chains[0]?.operations,
    caughtUp: () => caughtUp(sends.foundation),
    close: async () => {
      for (const one of [...tenants, listener]) one.close();
      await Promise.all([stream.close(), relay.close(), catcher.service.close()]);
      await sends.stop();
    },
  };
};
