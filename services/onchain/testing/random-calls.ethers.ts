import { AbiCoder, concat } from 'ethers';
import { burns, burnsGas, caught, checksGas, passesOn, returns, reverts, writes } from './evm-code.ts';
import { execute, executeBatch } from './operations-on-chain.ethers.ts';
import type { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';

const abi = AbiCoder.defaultAbiCoder();
const CALLS_MAX = 6;
const DEPTH_MAX = 8;
const DATA_BYTES_MAX = 6_000;
const REVERTS = 0.08;
const NEITHER_OF_THE_ACCOUNT = '0xabababab';

/** The calls of one operation. */
export interface RandomCalls {
  callData: string;
  calls: readonly { to: string; value: bigint; data: string }[];
  wei: bigint;
  /** Contracts whose first slot is 1 after success. */
  written: readonly string[];
  /** Describes the calls in failures. */
  name: string;
}

/** Draws calls of an account, and deploys their contracts on a chain. The same seed yields the same calls. */
export class RandomCallsOn {
  private written: string[] = [];
  private takesAllGas = false;

  constructor(
    private readonly random: SeededRandom,
    private readonly setCode: (address: string, code: string) => Promise<unknown>,
  ) {}

  /** @param callsMost 1: exactly one call */
  async draw(callsMost = CALLS_MAX): Promise<RandomCalls> {
    const { random } = this;
    if (callsMost > 1 && random.chance(0.06)) return doesNothing('0x', 'calls nobody');
    if (callsMost > 1 && random.chance(0.03)) return doesNothing(NEITHER_OF_THE_ACCOUNT, 'is of no function');
    const count = random.chance(0.5) ? 1 : random.between(1, callsMost);
    const calls = [];
    const names = [];
    for (let at = 0; at < count; at += 1) {
      const { address: to, name } = await this.target();
      const value = random.chance(0.4) ? BigInt(random.between(1, 10 ** 15)) : 0n;
      const data = this.data();
      calls.push({ to, value, data });
      names.push(`${name} with ${String(value)} wei and ${String(data.length / 2 - 1)} bytes`);
    }
    const [first] = calls;
    const callData = first && count === 1 ? execute(first.to, first.value, first.data) : executeBatch(calls);
    const wei = calls.reduce((sum, { value }) => sum + value, 0n);
    // If a caught call burns all gas, the rest runs with 1/64 of it: a later caught call may fail while the operation succeeds.
    return { callData, calls, wei, written: this.takesAllGas ? [] : this.written, name: names.join(', ') };
  }

  private async target(): Promise<{ address: string; name: string }> {
    const { random } = this;
    if (random.chance(0.2)) return { address: this.newAddress(), name: 'nobody' };
    if (random.chance(0.25)) return this.catching();
    const { code, name, isWritten } = this.part();
    const address = await this.contract(code);
    if (isWritten) this.written.push(address);
    return random.chance(0.5) ? this.through(address, name) : { address, name };
  }

  private part(): { code: string; name: string; isWritten: boolean } {
    const { random } = this;
    if (random.chance(REVERTS)) {
      const { data, name } = random.pick(reasons) ?? { data: '0x', name: '' };
      return { code: reverts(data), name, isWritten: false };
    }
    const slots = random.between(1, 30);
    const gas = random.between(1_000, 2_000_000);
    const parts = [
      { code: writes(slots), name: `writes ${String(slots)}`, isWritten: true },
      { code: checksGas(gas), name: `asks for ${String(gas)} gas`, isWritten: false },
      { code: burnsGas(gas), name: `takes ${String(gas)} gas`, isWritten: false },
      { code: returns(BigInt(slots), BigInt(gas)), name: 'returns', isWritten: false },
    ];
    const part = random.pick(parts);
    if (!part) throw new Error('no part was drawn');
    return part;
  }

  /** A contract that calls another which may fail, and succeeds anyway. */
  private async catching(): Promise<{ address: string; name: string }> {
    const takesAll = this.random.chance(0.2);
    this.takesAllGas ||= takesAll;
    const { code, name, isWritten } = takesAll ? { code: burns, name: 'burns', isWritten: false } : this.part();
    const inner = await this.contract(code);
    if (isWritten) this.written.push(inner);
    const { address, name: called } = await this.through(inner, name);
    return { address: await this.contract(caught(address)), name: `catches (${called})` };
  }

  /** Calls through a chain of contracts, each of which passes on 63/64 of its gas. */
  private async through(to: string, name: string): Promise<{ address: string; name: string }> {
    const depth = this.random.between(0, DEPTH_MAX);
    let address = to;
    for (let at = 0; at < depth; at += 1) address = await this.contract(passesOn(address));
    return { address, name: `${name} through ${String(depth)}` };
  }

  private data(): string {
    const { random } = this;
    if (random.chance(0.4)) return '0x';
    const bytes = random.chance(0.2) ? random.between(1, DATA_BYTES_MAX) : random.between(1, 200);
    const zeros = random.next();
    const drawn = Array.from({ length: bytes }, () => (random.chance(zeros) ? 0 : random.between(1, 255)));
    return `0x${Buffer.from(drawn).toString('hex')}`;
  }

  private async contract(code: string): Promise<string> {
    const address = this.newAddress();
    await this.setCode(address, code);
    return address;
  }

  private newAddress(): string {
    return this.random.hash().slice(0, 42);
  }
}

const doesNothing = (callData: string, name: string): RandomCalls => ({
  ...{ callData, name, calls: [], wei: 0n, written: [] },
});

const reasons = [
  { name: 'reverts with a text', data: concat(['0x08c379a0', abi.encode(['string'], ['not today'])]) },
  { name: 'reverts with a panic', data: concat(['0x4e487b71', abi.encode(['uint256'], [0x11])]) },
  { name: 'reverts with a custom error', data: '0xc0ffee00' },
  { name: 'reverts with nothing', data: '0x' },
];
