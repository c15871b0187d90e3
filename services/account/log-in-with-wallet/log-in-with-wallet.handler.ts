import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Session } from '../../../schemas/http/account-routes.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import {
  challengeFold,
  challengesKept,
  challengeStream,
  noMatchingChallenge,
  redeemChallenge,
  signable,
  type Challenge,
  type Challenges,
} from '../domain/challenge.ts';
import { challengeMessage } from '../domain/challenge-message.ts';
import { claimIdentity, identityFold, identityStream, walletIdentity, type Identity } from '../domain/identity.ts';
import { sessionStream } from '../../../schemas/events/session-events.ts';
import { sessionFold, sessionIdFrom, startSession } from '../domain/session.ts';
import { logIn, userFold, userIdFrom, userStream } from '../domain/user.ts';
import { recoverSigner } from '../edge/recover-signer.ethers.ts';
import { SessionTokens } from '../edge/session-tokens.jose.ts';
import { readSignature } from '../edge/read-signature.ts';

export interface LoggedIn {
  session: Session;
  sessionId: string;
  position: Position;
}

/** Logs in with the signature of a wallet over an open challenge. */
export class LogInWithWallet extends Command<LoggedIn> {
  constructor(
    readonly login: {
      appId: string;
      origin: string;
      signer: string;
      signature: string;
      /** The header `user-agent`. */
      device: string | undefined;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

const DEVICE_CHARACTERS_MAX = 200;

/**
 * A login appends to four streams in this order: challenge, identity, user, session. Each append holds what the next step
 * needs, and a repeated step appends nothing. So the same signature completes a login that a crash interrupted; once its
 * session has started, the signature is refused.
 */
@CommandHandler(LogInWithWallet)
export class LogInWithWalletHandler implements ICommandHandler<LogInWithWallet> {
  constructor(
    private readonly transactor: Transactor,
    private readonly tokens: SessionTokens,
  ) {}

  async execute({ login, metadata: appMetadata }: LogInWithWallet): Promise<LoggedIn> {
    const { appId, device } = login;
    const signer = readAddressMember('signer', login.signer);
    const { redemption, challenges } = await this.redeem(
      { ...login, signer, signature: readSignature(login.signature) },
      appMetadata,
    );
    const { sessionId, eventId: causationId } = redemption;
    const identity = walletIdentity(signer);
    const userId = await this.userOf(identity, signer.toLowerCase(), { ...appMetadata, causationId });
    const metadata = { ...appMetadata, actor: { type: 'user' as const, id: userId }, session: sessionId };
    const { state: user } = await this.transactor.transact({
      stream: userStream(userId),
      fold: userFold,
      metadata: { ...metadata, causationId },
      decide: (before) => logIn(before, { ...identity, userId, appId, sessionId }),
    });
    const recorded = user.logins.find((one) => one.sessionId === sessionId);
    if (!recorded) throw new Error('the recorded login is missing from the user');
    const start = {
      sessionId,
      userId,
      appId,
      method: identity.method,
      device: device?.slice(0, DEVICE_CHARACTERS_MAX) ?? null,
      ...this.newTokenIds(),
    };
    const { state: session, position } = await this.transactor.transact({
      stream: sessionStream(sessionId),
      fold: sessionFold,
      metadata: { ...metadata, causationId: recorded.eventId },
      decide: (state, nowMs) => startSession(state, start, () => noMatchingChallenge(challenges, nowMs)),
    });
    if (!session) throw new Error('the session that was started is missing');
    return { session: await this.tokens.issue(session), sessionId, position };
  }

  /**
   * Redeems the challenge that was signed. Returns the redemption, the first one where the challenge was redeemed before,
   * and all challenges of the signer.
   */
  private async redeem(
    { appId, origin, signer, signature }: { appId: string; origin: string; signer: string; signature: string },
    metadata: EventMetadata,
  ): Promise<{ redemption: NonNullable<Challenge['redemption']>; challenges: Challenges }> {
    const stream = challengeStream(appId, signer);
    const isSigned = (challenge: Challenge): boolean =>
      challenge.origin === origin && recoverSigner(challengeMessage(challenge), signature) === signer;
    const { state: issued } = await this.transactor.load(stream, challengeFold);
    const nowMs = this.transactor.clock.now();
    const nonce = signable(issued, nowMs).find(isSigned)?.nonce;
    if (nonce === undefined) throw noMatchingChallenge(issued, nowMs);
    const sessionId = sessionIdFrom(this.transactor.ids.token(26));
    const { state: challenges } = await this.transactor.transact({
      stream,
      fold: challengeFold,
      metadata,
      keep: challengesKept,
      decide: (current, now) => redeemChallenge(current, now, { nonce, sessionId }),
    });
    const redemption = challenges.find((challenge) => challenge.nonce === nonce)?.redemption;
    if (!redemption) throw new Error('the challenge that was redeemed is missing');
    return { redemption, challenges };
  }

  /** Returns the wallet's user. The id of a new user is the wallet's address, unless another user has that id already. */
  private async userOf(identity: Identity, addressId: string, metadata: EventMetadata): Promise<string> {
    const stream = identityStream(identity.identityId);
    const { state: owned } = await this.transactor.load(stream, identityFold);
    if (owned) return owned.userId;
    const [taken] = await this.transactor.store.read(userStream(addressId), { limit: 1 });
    const userId = taken ? userIdFrom(this.transactor.ids.token(26)) : addressId;
    const { state } = await this.transactor.transact({
      stream,
      fold: identityFold,
      metadata,
      decide: (current) => claimIdentity(current, { ...identity, userId }),
    });
    return state?.userId ?? userId;
  }

  private newTokenIds() {
    const { ids } = this.transactor;
    return { accessTokenId: ids.token(26), refreshTokenId: ids.token(26) };
  }
}
