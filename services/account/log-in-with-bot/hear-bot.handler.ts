import { timingSafeEqual } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { z } from 'zod';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { SETTINGS } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { BotCodes } from '../edge/bot-codes.ts';
import { IdentityIds } from '../edge/identity-ids.ts';
import { LoginStates } from '../edge/login-states.ts';
import { MESSENGER, type Messenger } from '../edge/messenger.ts';
import { Undeliverable } from '../edge/undeliverable.ts';
import { noBot } from './no-bot.ts';

/** What the messenger told the bot. */
export class HearBot extends Command<void> {
  constructor(
    readonly heard: { secret: string | undefined; message: unknown },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Of one person to the bot, and of nobody else: in a group others would read the answer. */
const startMessage = z.object({
  text: z.string().regex(/^\/start [A-Za-z0-9_-]{1,64}$/),
  chat: z.object({ type: z.literal('private') }),
  from: z.object({ id: z.int().positive(), is_bot: z.literal(false) }),
});

/** Gives a code to whoever opens the bot with the state of a login. */
@CommandHandler(HearBot)
export class HearBotHandler implements ICommandHandler<HearBot> {
  constructor(
    private readonly states: LoginStates,
    private readonly codes: BotCodes,
    private readonly identityIds: IdentityIds,
    @Inject(MESSENGER) private readonly messenger: Messenger | null,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'MESSENGER_WEBHOOK_SECRET'>,
  ) {}

  /** @throws Refusal forbidden; dependency_unavailable, after which the messenger tells it again */
  async execute({ heard: { secret, message }, metadata }: HearBot): Promise<void> {
    if (!this.messenger) throw noBot();
    if (!isSame(secret, this.settings.MESSENGER_WEBHOOK_SECRET)) {
      throw new Refusal('forbidden', 'only the messenger may call this');
    }
    const { data: start } = startMessage.safeParse(message);
    if (!start) return;
    const state = start.text.slice('/start '.length);
    await this.reply(this.messenger, { state, messengerId: String(start.from.id) }, metadata);
  }

  private async reply(
    messenger: Messenger,
    { state, messengerId }: { state: string; messengerId: string },
    metadata: EventMetadata,
  ): Promise<void> {
    const code = this.codes.codeFor(state, messengerId);
    const identityId = this.identityIds.keyedIdentity('messenger', messengerId);
    const issued = { codeHash: sha256(code), identityId, label: messengerId };
    try {
      const { redirectUri } = await this.states.issue(state, issued, metadata);
      await messenger.send(messengerId, codeMessage(code, { state, redirectUri }));
    } catch (error) {
      // A login that is over or somebody else's, and a person who blocked the bot: the messenger need not tell it again.
      const isExpected = error instanceof Undeliverable || (error instanceof Refusal && error.code === 'state_unknown');
      if (!isExpected) throw error;
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

/** In the same time whatever was given; hashed, because only texts of one length can be compared so. */
const isSame = (given: string | undefined, secret: string | undefined): boolean =>
  given !== undefined &&
  secret !== undefined &&
  timingSafeEqual(Buffer.from(sha256(given), 'hex'), Buffer.from(sha256(secret), 'hex'));
