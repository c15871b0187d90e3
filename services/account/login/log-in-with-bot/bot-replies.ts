import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import type { BotCodes } from './bot-codes.ts';
import type { IdentityIds } from '../identity-ids.ts';
import type { LoginStates } from '../login-states.ts';
import type { MessengerMessage } from '../../messages/messenger.ts';

const beginAgain: MessengerMessage = {
  text: 'There is nothing to sign in to here: it is over, or began elsewhere. Go back to the site and begin to sign in again.',
};

/** What the bot says to a person who starts it. */
export class BotReplies {
  constructor(
    private readonly states: LoginStates,
    private readonly codes: BotCodes,
    private readonly identityIds: IdentityIds,
  ) {}

  /** Issues the code of the login that the state is of, if it is open and nobody else's. */
  async replyTo(messengerId: string, state: string, metadata: EventMetadata): Promise<MessengerMessage> {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(state)) return beginAgain;
    const code = this.codes.codeFor(state, messengerId);
    const identityId = this.identityIds.keyedIdentity('messenger', messengerId);
    try {
      const issued = { codeHash: sha256(code), identityId, label: messengerId };
      const { redirectUri } = await this.states.issue(state, issued, metadata);
      return codeMessage(code, { state, redirectUri });
    } catch (error) {
      if (error instanceof Refusal && error.code === 'state_unknown') return beginAgain;
      throw error;
    }
  }
}

const codeMessage = (code: string, { state, redirectUri }: { state: string; redirectUri: string }) => {
  const url = new URL(redirectUri);
  url.searchParams.set('state', state);
  url.searchParams.set('code', code);
  const text = `Your code to sign in at ${url.host}:\n\n${code}\n\nUse it only if you began to sign in there, and give it to nobody.`;
  return { text, button: { label: 'Sign in', url: url.href } };
};
