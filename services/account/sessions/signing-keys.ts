import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import type { PublicKeys } from '../../../schemas/http/account/account-routes.ts';
import { coordinates } from '../../../shared/keys/public-jwk.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import { withinDeadline } from '../../../shared/primitives/waiting/within-deadline.ts';
import { publishedKeysAt, signingKeyAt } from './domain/signing-schedule.ts';

/** Poll interval, so that every process knows a new key within 2 s. */
const READ_AGAIN_MS = 1_000;
const READ_WITHIN_MS = 500;

/** A key for ES256. */
export interface SigningKey {
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** Unix milliseconds. */
  createdAt: number;
}

/** Stores the keys for all account processes. */
export interface SigningKeyStore {
  /** Returns the keys in the order of creation. Creates one if there never was one. @throws CannotStart */
  load: () => Promise<SigningKey[]>;
  add: () => Promise<void>;
  /** Removes all keys except these. */
  keep: (kids: ReadonlySet<string>) => Promise<void>;
}

/**
 * The keys of this service. Each process learns of a rotation by itself, and continues with the keys it knows if that
 * fails.
 */
export class SigningKeys {
  private readonly failures = new LogThrottle();
  private reading: Promise<void> | undefined;
  private until: number;

  private constructor(
    private readonly store: Pick<SigningKeyStore, 'load'>,
    private readonly clock: Clock,
    private readonly logger: Pick<Logger, 'error'>,
    private keys: SigningKey[],
  ) {
    this.until = clock.elapsed() + READ_AGAIN_MS;
  }

  /** @throws CannotStart */
  static async open(
    store: Pick<SigningKeyStore, 'load'>,
    { clock, logger }: { clock: Clock; logger: Pick<Logger, 'error'> },
  ): Promise<SigningKeys> {
    return new SigningKeys(store, clock, logger, await store.load());
  }

  /** Returns the current signing key. */
  async current(): Promise<SigningKey> {
    return signingKeyAt(await this.known(), this.clock.now());
  }

  async byId(kid: string): Promise<SigningKey | undefined> {
    return publishedKeysAt(await this.known(), this.clock.now()).find((key) => key.kid === kid);
  }

  async published(): Promise<PublicKeys> {
    const keys = publishedKeysAt(await this.known(), this.clock.now());
    return {
      keys: keys.map(({ kid, publicKey }) => ({ ...coordinates(publicKey), kid, alg: 'ES256', use: 'sig' })),
    };
  }

  private async known(): Promise<SigningKey[]> {
    if (this.clock.elapsed() >= this.until) await (this.reading ??= this.readAgain());
    return this.keys;
  }

  private async readAgain(): Promise<void> {
    try {
      this.keys = await withinDeadline('the signing keys', READ_WITHIN_MS, this.store.load());
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.failures.isDue(message)) this.logger.error({ err: error }, 'the signing keys cannot be read again');
    } finally {
      this.until = this.clock.elapsed() + READ_AGAIN_MS;
      this.reading = undefined;
    }
  }
}
