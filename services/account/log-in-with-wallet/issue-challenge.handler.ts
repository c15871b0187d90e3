import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Challenge } from '../../../schemas/http/account-routes.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { challengeFold, challengesKept, challengeStream, issueChallenge } from '../domain/challenge.ts';
import { challengeMessage } from '../domain/challenge-message.ts';

export class IssueChallenge extends Command<Challenge> {
  constructor(
    readonly request: { appId: string; origin: string; signer: string; chainId: number },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(IssueChallenge)
export class IssueChallengeHandler implements ICommandHandler<IssueChallenge> {
  constructor(private readonly transactor: Transactor) {}

  async execute({ request, metadata }: IssueChallenge): Promise<Challenge> {
    const signer = readAddressMember('signer', request.signer);
    const nonce = this.transactor.ids.token(26); // 130 bits
    const { state } = await this.transactor.transact({
      stream: challengeStream(request.appId, signer),
      fold: challengeFold,
      metadata,
      keep: challengesKept,
      decide: (challenges, nowMs) => issueChallenge(challenges, nowMs, { ...request, signer, nonce }),
    });
    const issued = state.find((challenge) => challenge.nonce === nonce);
    if (!issued) throw new Error('the issued challenge is missing');
    return { message: challengeMessage(issued), nonce, expiresAt: issued.expiresAt };
  }
}
