import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { compileDecoder, type LogContent } from '../../../event-catcher/domain/decoding/log-decoder.ts';
import { measure, type Report } from '../measure.ts';

const LOGS = 200_000;
const ROUNDS = 5;
const { fragment, topic0 } = eventExamples.ContractRegistered;

/** Measures how fast one core decodes transfers: with addresses that are all different, and with a few that recur. */
export const benchDecoding = async (_folder: string, report: Report): Promise<void> => {
  const decode = compileDecoder(fragment, checksumAddress);
  for (const addresses of [2 * LOGS, 1_000]) {
    const logs = Array.from({ length: LOGS }, (_, at) => transfer(at, addresses));
    const decodeAll = (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) for (const log of logs) decode(log);
      return Promise.resolve();
    };
    await decodeAll();
    const what = `transfers decoded, ${addresses.toLocaleString('en')} addresses`;
    report(await measure(what, ROUNDS * LOGS, decodeAll));
  }
};

const transfer = (at: number, addresses: number): LogContent => {
  const [from, to] = [2 * at, 2 * at + 1].map((index) => `0x${word(0xa11ce * ((index % addresses) + 1))}`);
  return { topics: [topic0 ?? '', from ?? '', to ?? ''], data: `0x${word(at * 1_000_003)}` };
};

const word = (value: number): string => value.toString(16).padStart(64, '0');
