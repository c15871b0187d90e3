import { Command } from '@nestjs/cqrs';
import type { SignatureScheme } from '../../../schemas/events/app-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';

/** What `annals app create` shows, and never again: the signing key is not kept. */
export interface RegisteredApp {
  id: string;
  name: string;
  apiKey: string;
  signingKey: string;
  origins: string[];
  redirectUris: string[];
  scheme: SignatureScheme;
}

/** Makes an app with keys of its own. Only the operator can. */
export class RegisterApp extends Command<RegisteredApp> {
  constructor(
    readonly app: { name: string; origins: string[]; redirectUris: string[]; scheme: SignatureScheme },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}
