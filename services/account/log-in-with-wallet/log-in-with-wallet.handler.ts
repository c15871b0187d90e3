import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
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
import { walletIdentity } from '../domain/identity.ts';
import { sessionIdFrom } from '../domain/session.ts';
import { Logins, type LoggedIn, type Redemption } from '../edge/logins.ts';
import { recoverSigner } from '../edge/recover-signer.ts';
import { readSignature } from '../edge/read-signature.ts';

/** Logs in with the signature of a wallet over an open challenge, or links the wallet to the user of a bearer token. */
export class LogInWithWallet extends Command<LoggedIn> {
  constructor(
    readonly login: {
      appId: string;
      origin: string;
      signer: string;
      signature: string;
      /** The header `user-agent`. */
      device: string | undefined;
      /** Of the bearer token, if there is one. */
      user: UserCaller | undefined;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Redeems the challenge that was signed, and completes the login of its signer. */
@CommandHandler(LogInWithWallet)
export class LogInWithWalletHandler implements ICommandHandler<LogInWithWallet> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
  ) {}

  async execute({ login, metadata }: LogInWithWallet): Promise<LoggedIn> {
    const { appId, device, user } = login;
    const signer = readAddressMember('signer', login.signer);
    const signature = readSignature(login.signature);
    const identity = walletIdentity(signer);
    const linkTo = await this.logins.linkTarget(user, [identity]);
    const { redemption, challenges } = await this.redeem({ ...login, signer, signature, linkTo }, metadata);
    const used = () => noMatchingChallenge(challenges, this.transactor.clock.now());
    return this.logins.complete({ identity, redemption, appId, device, userId: signer.toLowerCase(), used }, metadata);
  }

  /**
   * Redeems the challenge that was signed. Returns the redemption, the first one where the challenge was redeemed before,
   * and all challenges of the signer.
   */
  private async redeem(
    {
      appId,
      origin,
      signer,
      signature,
      linkTo,
    }: { appId: string; origin: string; signer: string; signature: string; linkTo: string | undefined },
    metadata: EventMetadata,
  ): Promise<{ redemption: Redemption; challenges: Challenges }> {
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
      decide: (current, now) =>
        redeemChallenge(current, now, { nonce, sessionId, ...(linkTo !== undefined && { linkTo }) }),
    });
    const redemption = challenges.find((challenge) => challenge.nonce === nonce)?.redemption;
    if (!redemption) throw new Error('the challenge that was redeemed is missing');
    if (redemption.linkTo !== linkTo) throw noMatchingChallenge(challenges, this.transactor.clock.now());
    return { redemption, challenges };
  }
}
