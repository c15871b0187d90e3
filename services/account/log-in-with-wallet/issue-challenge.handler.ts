import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Challenge } from '../../../schemas/http/account-routes.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { CHALLENGE_EVENTS_KEPT, challengeFold, challengeStream, issueChallenge } from '../domain/challenge.ts';
import { challengeMessage } from '../domain/challenge-message.ts';

export class IssueChallenge extends Command<Challenge> {
  constructor(
    readonly asked: { appId: string; origin: string; signer: string; chainId: number },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(IssueChallenge)
export class IssueChallengeHandler implements ICommandHandler<IssueChallenge> {
  constructor(private readonly transactor: Transactor) {}

  async execute({ asked, metadata }: IssueChallenge): Promise<Challenge> {
    const signer = readAddressMember('signer', asked.signer);
    const nonce = this.transactor.ids.token(26); // 130 bits
    const stream = challengeStream(asked.appId, signer);
    const { state } = await this.transactor.transact({
      stream,
      fold: challengeFold,
      metadata,
      decide: (challenges, nowMs) => issueChallenge(challenges, nowMs, { ...asked, signer, nonce }),
    });
    if (state.length === 1) await this.transactor.store.keepNewest(stream, CHALLENGE_EVENTS_KEPT);
    const issued = state.find((challenge) => challenge.nonce === nonce);
    if (!issued) throw new Error('the newest challenge is always open');
    return { message: challengeMessage(issued), nonce, expiresAt: issued.expiresAt };
  }
}
