import { argon2, createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { unavailable } from '../../../shared/errors/refusal.ts';
import { deriveKey } from '../../../shared/keys/derive-key.ts';
import { encodeToken } from '../../../shared/primitives/ids.ts';
import { Semaphore } from '../../../shared/primitives/waiting/semaphore.ts';

interface PasswordCost {
  memoryKib: number;
  passes: number;
}

export interface PasswordOptions {
  /** Default: what OWASP recommends. Lower for tests that check hundreds of passwords. */
  cost?: PasswordCost;
  /** How long a hash may wait for its turn. Default: 2.5 s. */
  startedWithinMs?: number;
}

/** OWASP's recommendation for Argon2id. The numbers stand in each hash, so that they can be raised. */
const COST: PasswordCost = { memoryKib: 19_456, passes: 2 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** Half of the threads that Node has for such work: files, names and compression need the others. */
const AT_A_TIME = 2;
/** Whoever waits longer is refused, and may try again. */
export const STARTED_WITHIN_MS = 2_500;
const HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([\w+/]+)\$([\w+/]+)$/;

const derive = promisify(argon2);

interface Parameters {
  memory: number;
  passes: number;
  salt: Uint8Array;
}

/** Returns six digits, each password as likely as any other. */
export const newOneTimePassword = (): string => String(randomInt(1_000_000)).padStart(6, '0');

/**
 * Hashes one-time passwords with Argon2id, off the main thread and few at a time. They are under a key besides, because six
 * digits can be tried, whatever the hash costs, by who has the event store and nothing else.
 */
export class PasswordHashes {
  private readonly key: Uint8Array;
  private readonly tokenKey: Uint8Array;
  private readonly permits = new Semaphore(AT_A_TIME);

  constructor(
    masterKey: Uint8Array,
    private readonly options: PasswordOptions = {},
  ) {
    this.key = deriveKey(masterKey, 'one-time passwords');
    this.tokenKey = deriveKey(masterKey, 'tokens of one-time passwords');
  }

  /** @param otpId needed to verify: the hash fits no other one-time password */
  async hash(otpId: string, password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const { memoryKib: memory, passes } = this.options.cost ?? COST;
    const tag = await this.derive(otpId, password, { memory, passes, salt });
    const texts = [salt, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
    return ['', 'argon2id', 'v=19', `m=${String(memory)},t=${String(passes)},p=1`, ...texts].join('$');
  }

  async verify(otpId: string, password: string, hash: string): Promise<boolean> {
    const [, memory, passes, salt = '', tag = ''] = HASH.exec(hash) ?? [];
    if (tag === '') throw new Error('the stored hash of a one-time password cannot be read');
    const parameters = { memory: Number(memory), passes: Number(passes), salt: Buffer.from(salt, 'base64') };
    return timingSafeEqual(await this.derive(otpId, password, parameters), Buffer.from(tag, 'base64'));
  }

  /** Returns what whoever asked for a password is told: 130 bits, which follow from its id, so that nothing is stored. */
  tokenOf(otpId: string): string {
    return encodeToken(createHmac('sha256', this.tokenKey).update(otpId).digest(), 26);
  }

  isTokenOf(otpId: string, token: string): boolean {
    const [given, right] = [Buffer.from(token), Buffer.from(this.tokenOf(otpId))];
    return given.length === right.length && timingSafeEqual(given, right);
  }

  private async derive(otpId: string, password: string, { memory, passes, salt }: Parameters): Promise<Buffer> {
    const { startedWithinMs = STARTED_WITHIN_MS } = this.options;
    await this.permits.acquire(AbortSignal.timeout(startedWithinMs)).catch((cause: unknown) => {
      throw unavailable('too many one-time passwords are being checked', cause);
    });
    try {
      return await derive('argon2id', {
        message: password,
        nonce: salt,
        memory,
        passes,
        parallelism: 1,
        tagLength: TAG_BYTES,
        secret: this.key,
        associatedData: otpId,
      });
    } finally {
      this.permits.release();
    }
  }
}
