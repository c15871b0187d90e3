import { timingSafeEqual } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { z } from 'zod';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { LOGGER, SETTINGS } from '../../../../shared/edge/tokens.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Logger } from '../../../../shared/host/logger.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { safeParse } from '../../../../shared/primitives/text/safe-parse.ts';
import { MESSENGER, noBot, type Messenger } from '../../messages/messenger.ts';
import { SenderRefused } from '../../messages/sender-refused.ts';
import { Undeliverable } from '../../messages/undeliverable.ts';
import { BotReplies } from './bot-replies.ts';

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
  text: z.string().regex(/^\/start(?:@\w+)?(?:\s|$)/),
  chat: z.object({ type: z.literal('private') }),
  from: z.object({ id: z.int().positive(), is_bot: z.literal(false) }),
});

/** Gives a code to whoever opens the bot with the state of a login. */
@CommandHandler(HearBot)
export class HearBotHandler implements ICommandHandler<HearBot> {
  constructor(
    private readonly replies: BotReplies,
    @Inject(MESSENGER) private readonly messenger: Messenger | null,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'MESSENGER_WEBHOOK_SECRET'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws Refusal forbidden; rate_limited and dependency_unavailable, after which the messenger tells it again */
  async execute({ heard: { secret, message }, metadata }: HearBot): Promise<void> {
    if (!this.messenger) throw noBot();
    if (!isSame(secret, this.settings.MESSENGER_WEBHOOK_SECRET)) {
      throw new Refusal('forbidden', 'only the messenger may call this');
    }
    const { data: start } = safeParse(startMessage, message);
    if (!start) return;
    const messengerId = String(start.from.id);
    const state = start.text.replace(/^\S+/, '').trim();
    const reply = await this.replies.replyTo(messengerId, state, metadata);
    try {
      await this.messenger.send(messengerId, reply);
    } catch (error) {
      // The same message would be refused again, so the messenger need not tell it again.
      if (!(error instanceof Undeliverable || error instanceof SenderRefused)) throw error;
      this.logger.warn({ reason: error.message }, 'a reply of the bot was not sent');
    }
  }
}

/** In the same time whatever was given; hashed, because only texts of one length can be compared so. */
const isSame = (given: string | undefined, secret: string | undefined): boolean =>
  given !== undefined &&
  secret !== undefined &&
  timingSafeEqual(Buffer.from(sha256(given), 'hex'), Buffer.from(sha256(secret), 'hex'));
