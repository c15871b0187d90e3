import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { MASTER_KEY } from '../../../shared/edge/tokens.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import {
  challengeFold,
  challengesKept,
  challengeStream,
  noMatchingChallenge,
  redeemChallenge,
  signable,
  type Challenges,
} from '../domain/challenge.ts';
import { sessionIdFrom } from '../domain/session.ts';
import { Logins, type LoggedIn, type Redemption } from '../edge/logins.ts';
import { clientMark } from './client-mark.ts';
import { readWalletSignature, WalletSignatures, type WalletProof } from './wallet-signatures.ts';

/** Logs in with the signature of a wallet over an open challenge, or links the wallet to the user of a bearer token. */
export class LogInWithWallet extends Command<LoggedIn> {
  constructor(
    readonly login: {
      appId: string;
      origin: string;
      signer: string;
      signature: string;
      /** Of the challenge that was signed, where the client says which. */
      nonce: string | undefined;
      /** The client's IP address as rate limits count it: of IPv6, its /64 prefix. */
      address: string;
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
    private readonly signatures: WalletSignatures,
    @Inject(MASTER_KEY) private readonly masterKey: Uint8Array,
  ) {}

  async execute({ login, metadata }: LogInWithWallet): Promise<LoggedIn> {
    const { appId, origin, device, user } = login;
    const signer = readAddressMember('signer', login.signer);
    const signature = readWalletSignature(login.signature);
    const stream = challengeStream(appId, signer);
    const { state: issued } = await this.transactor.load(stream, challengeFold);
    const nowMs = this.transactor.clock.now();
    const client = clientMark(this.masterKey, login.address);
    const candidates = signable(issued, nowMs, { origin, client, nonce: login.nonce });
    await this.logins.linkTarget(user, this.signatures.identities(signer, candidates));
    const proof = await this.signatures.find(candidates, { signer, signature });
    if (!proof) throw noMatchingChallenge(issued, nowMs);
    const { identity, isContract } = proof;
    const linkTo = await this.logins.linkTarget(user, [identity]);
    const { redemption, challenges } = await this.redeem({ ...proof, stream, linkTo }, metadata);
    const used = () => noMatchingChallenge(challenges, this.transactor.clock.now());
    const userId = isContract ? {} : { userId: signer.toLowerCase() };
    return this.logins.complete({ identity, redemption, appId, device, ...userId, used }, metadata);
  }

  /**
   * Redeems the challenge that was signed. Returns the redemption, the first one where the challenge was redeemed before,
   * and all challenges of the signer.
   */
  private async redeem(
    { stream, nonce, isContract, linkTo }: WalletProof & { stream: string; linkTo: string | undefined },
    metadata: EventMetadata,
  ): Promise<{ redemption: Redemption; challenges: Challenges }> {
    const sessionId = sessionIdFrom(this.transactor.ids.token(26));
    const how = { ...(linkTo !== undefined && { linkTo }), ...(isContract && { by: 'contract' as const }) };
    const { state: challenges } = await this.transactor.transact({
      stream,
      fold: challengeFold,
      metadata,
      keep: challengesKept,
      decide: (current, now) => redeemChallenge(current, now, { nonce, sessionId, ...how }),
    });
    const redemption = challenges.find((challenge) => challenge.nonce === nonce)?.redemption;
    if (!redemption) throw new Error('the challenge that was redeemed is missing');
    const { linkTo: to, by } = redemption;
    if (to !== how.linkTo || by !== how.by) throw noMatchingChallenge(challenges, this.transactor.clock.now());
    return { redemption, challenges };
  }
}
