import { BlocksRefused, ChainUnavailable, MethodMissing, type RangeTooLarge } from '../chain-reader.ts';

/** Why no endpoint answered. */
export interface Failures {
  messages: string[];
  tooLarge: RangeTooLarge | undefined;
  perhapsTooLarge: RangeTooLarge | undefined;
  withoutState: number;
  /** How many endpoints refuse the blocks, and how many of these report them as pruned. */
  refused: number;
  pruned: number;
  /** The methods that endpoints lack. */
  missing: string[];
  /** Whether an endpoint will accept a request soon. */
  isAskedAgain: boolean;
}

export const noFailures = (): Failures => ({
  ...{ messages: [], tooLarge: undefined, perhapsTooLarge: undefined, isAskedAgain: false },
  ...{ withoutState: 0, refused: 0, pruned: 0, missing: [] },
});

/** Returns the error for a question that no endpoint answered. @param endpoints how many were asked */
export const noneOf = (
  { messages, refused, pruned, missing: [method, ...others] }: Failures,
  { message, chainId, endpoints }: { message: string; chainId: number; endpoints: number },
): ChainUnavailable => {
  const reason = messages.join('; ');
  if (method !== undefined && others.length === endpoints - 1)
    return new MethodMissing(`no provider of chain ${String(chainId)} has ${method}: ${reason}`);
  if (refused === 0) return new ChainUnavailable(message);
  return new BlocksRefused(message, { reason, isPrunedEverywhere: pruned === endpoints });
};
