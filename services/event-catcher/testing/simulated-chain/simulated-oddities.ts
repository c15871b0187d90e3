import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { RpcError } from '../../../../shared/testing/chain/wire-forms.ts';
import type { CatcherFaults } from '../simulation/catcher-faults.ts';

/** How one endpoint always differs from most, though it can be understood. */
export interface Oddities {
  /** The most logs that it returns, without telling that there are more. */
  logsReturnedMost: number;
  /** What it does with a block hash in a request for logs. */
  blockHash: 'taken' | 'refused' | 'ignored';
  hasBlooms: boolean;
  /** How it gives the time of a log. */
  time: 'right' | 'none' | 'as a number' | 'zero' | 'in words' | 'in the future';
  form: 'usual' | 'numbers' | 'padded' | 'upper case' | 'repeated' | 'more members';
}

export const NOT_ODD: Oddities = {
  logsReturnedMost: Infinity,
  blockHash: 'taken',
  hasBlooms: true,
  time: 'right',
  form: 'usual',
};

const TIMES = ['none', 'none', 'as a number', 'zero', 'in words', 'in the future'] as const;
const FORMS = ['numbers', 'padded', 'upper case', 'repeated', 'more members'] as const;

export const randomOddities = (random: SeededRandom): Oddities => ({
  logsReturnedMost: random.chance(0.2) ? random.between(1, 40) : Infinity,
  blockHash: random.chance(0.15) ? (random.pick(['refused', 'ignored'] as const) ?? 'taken') : 'taken',
  hasBlooms: !random.chance(0.1),
  time: random.chance(0.4) ? (random.pick(TIMES) ?? 'right') : 'right',
  form: random.chance(0.3) ? (random.pick(FORMS) ?? 'usual') : 'usual',
});

/** Whether logs that it has may be missing in its answers, so that they are found only once they are final. */
export const mayLeaveOut = ({ logsReturnedMost, blockHash }: Oddities): boolean =>
  logsReturnedMost < Infinity || blockHash === 'ignored';

type Json = Record<string, unknown>;

/** Writes answers as an odd endpoint does. */
export class OddAnswers {
  constructor(
    private readonly odd: Oddities,
    private readonly faults: CatcherFaults,
  ) {}

  /** @returns whether the hash of a block is ignored. @throws RpcError if it is refused */
  ignoresBlockHash(): boolean {
    const { blockHash } = this.odd;
    if (blockHash === 'refused') {
      this.faults.count('an endpoint refuses the hash of a block');
      throw new RpcError('invalid params: blockHash is not supported', { code: -32_602 });
    }
    if (blockHash === 'ignored') this.faults.count('an endpoint ignores the hash of a block');
    return blockHash === 'ignored';
  }

  cut<Log>(logs: readonly Log[]): readonly Log[] {
    const { logsReturnedMost } = this.odd;
    if (logs.length > logsReturnedMost) this.faults.count('an endpoint cuts a list of logs');
    return logs.slice(0, logsReturnedMost);
  }

  logs(logs: readonly object[]): object[] {
    const { form } = this.odd;
    const written = logs.map((log) => this.inForm(this.timed(log as Json)));
    return form === 'repeated' ? written.flatMap((log) => [log, log]) : written;
  }

  header(header: object): object {
    const { hasBlooms } = this.odd;
    if (hasBlooms) return this.inForm(header as Json);
    this.faults.count('an endpoint has no blooms');
    return this.inForm({ ...header, logsBloom: null });
  }

  private timed(log: Json): Json {
    const { time } = this.odd;
    const seconds = Number(log['blockTimestamp']);
    if (time === 'right') return log;
    this.faults.count('an endpoint does not say the time of a log as usual');
    const times = {
      none: undefined,
      'as a number': seconds,
      zero: '0x0',
      'in words': new Date(seconds * 1_000).toUTCString(),
      'in the future': `0x${(seconds + FUTURE_SECONDS).toString(16)}`,
    };
    return { ...log, blockTimestamp: times[time] };
  }

  private inForm(value: Json): Json {
    const { form } = this.odd;
    if (form === 'usual') return value;
    this.faults.count('an endpoint writes answers in a form of its own');
    if (form === 'more members') return { ...value, removed: undefined, l1BatchNumber: null, extra: [{ length: {} }] };
    if (form === 'repeated') return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.member(name, member)]));
  }

  private member(name: string, member: unknown): unknown {
    if (typeof member !== 'string') return member;
    if (this.odd.form === 'upper case') return member.toUpperCase();
    if (!QUANTITIES.has(name) || !member.startsWith('0x')) return member;
    return this.odd.form === 'numbers' ? Number(member) : `0x${member.slice(2).padStart(64, '0')}`;
  }
}

const FUTURE_SECONDS = 1_000_000_000;
const QUANTITIES = new Set(['number', 'timestamp', 'gasUsed', 'blockNumber', 'transactionIndex', 'logIndex']);
