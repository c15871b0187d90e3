import { z } from 'zod';
import type { CaseRun } from '../case-run.ts';
import { json, type Json } from '../json-value.ts';
import { matches, unknownOperators } from '../pattern.ts';

export interface Step {
  schema: z.ZodType;
  needsDevelopmentChain: boolean;
  run: (parameters: unknown, run: CaseRun) => Promise<void>;
}

/** @param run gets the parameters with references replaced by what they refer to */
export const step = <Schema extends z.ZodType>(
  schema: Schema,
  run: (parameters: z.output<Schema>, run: CaseRun) => Promise<void> | void,
  { needsDevelopmentChain = false } = {},
): Step => ({
  schema,
  needsDevelopmentChain,
  run: async (parameters, caseRun) => {
    await run(caseRun.resolve(parameters as Json) as z.output<Schema>, caseRun);
  },
});

/** A name by which later steps refer to what a step opened. */
export const name = z.string().regex(/^[a-z][a-zA-Z0-9]*$/, 'is a name: letters and digits');

export const pattern = json.superRefine((value, context) => {
  for (const operator of unknownOperators(value))
    context.addIssue({ code: 'custom', message: `there is no operator ${operator}` });
});

/** Members of a command or parameters of a query besides those of the channel; `null` leaves one out. */
export const parameters = z.record(z.string(), json);

/** `valid`: the token of this run; `none`: no token; any other text is sent as it is. */
export const token = z.string().default('valid');

export const tokenOf = async (asked: string, run: CaseRun): Promise<string | undefined> => {
  if (asked === 'none') return undefined;
  return asked === 'valid' ? run.node.token() : asked;
};

/** The event of the case's contract, with what a step adds, changes or leaves out. */
export const channelWith = (run: CaseRun, more: Record<string, Json>): Record<string, Json> => {
  const contractAddress = run.hasContract ? run.contract.address : NO_CONTRACT;
  const all: Record<string, Json> = {
    chainId: run.node.chain.chainId,
    contractAddress,
    eventSignature: 'Transfer',
    ...more,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
};

/** An address at which nobody can have deployed anything. */
const NO_CONTRACT = '0x00000000000000000000000000000000000a11a5';

/** Waits until a value is as expected. */
export const expectValue = (
  run: CaseRun,
  expected: Json,
  ask: () => Json | Promise<Json>,
  withinMs = run.node.withinMs,
): Promise<Json> => run.until(expected, ask, (value) => matches(expected, value), withinMs);

/** Any answer over HTTP or a socket but the refusal of a node whose read model is behind: after the refusal a client asks again. */
export const CAUGHT_UP: Json = {
  $not: {
    $oneOf: [
      { status: 503, body: { code: 'not_caught_up' } },
      { ok: false, error: { code: 'not_caught_up' } },
    ],
  },
};
