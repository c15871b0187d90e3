import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { Challenge } from '../../../../schemas/http/account/account-routes.ts';
import { readAddressMember } from '../../../../shared/chain/identifiers/address.ts';
import { MASTER_KEY } from '../../../../shared/edge/tokens.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { challengeFold, challengesKept, challengeStream, issueChallenge } from '../domain/challenge.ts';
import { challengeMessage } from '../domain/challenge-message.ts';
import { clientMark, networkOf } from './client-mark.ts';

export class IssueChallenge extends Command<Challenge> {
  constructor(
    readonly request: {
      appId: string;
      origin: string;
      signer: string;
      chainId: number;
      /** The client's IP address as rate limits count it: of IPv6, its /64 prefix. */
      address: string;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(IssueChallenge)
export class IssueChallengeHandler implements ICommandHandler<IssueChallenge> {
  constructor(
    private readonly transactor: Transactor,
    @Inject(MASTER_KEY) private readonly masterKey: Uint8Array,
  ) {}

  async execute({ request, metadata }: IssueChallenge): Promise<Challenge> {
    const { appId, origin, chainId, address } = request;
    const signer = readAddressMember('signer', request.signer);
    const client = clientMark(this.masterKey, address);
    const network = clientMark(this.masterKey, networkOf(address));
    const nonce = this.transactor.ids.token(26); // 130 bits
    const { state } = await this.transactor.transact({
      stream: challengeStream(appId, signer),
      fold: challengeFold,
      metadata,
      keep: challengesKept,
      decide: (challenges, nowMs) =>
        issueChallenge(challenges, nowMs, { appId, origin, chainId, signer, nonce, client, network }),
    });
    const issued = state.find((challenge) => challenge.nonce === nonce);
    if (!issued) throw new Error('the issued challenge is missing');
    return { message: challengeMessage(issued), nonce, expiresAt: issued.expiresAt };
  }
}
