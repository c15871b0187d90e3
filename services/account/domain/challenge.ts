import type { ChallengeEvent } from '../../../schemas/events/challenge-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { toIso } from '../../../shared/primitives/clock.ts';

const LIFE_MS = 5 * 60_000;
const OPEN_MAX = 10;
/** What the stream keeps: more than the ten open challenges and their redemptions, which decisions need. */
export const challengesKept = { newest: 256 };
/** Redeemed challenges that a repeated signature may complete the login of, should a crash have interrupted it. */
const REDEEMED_TRIED_MAX = 5;

/** All challenges of one signer at one app share a stream, so that one append decides which login redeems. */
export const challengeStream = (appId: string, signer: string): string =>
  `challenge-${sha256(`${appId}:${signer.toLowerCase()}`)}`;

export interface Challenge {
  nonce: string;
  appId: string;
  /** With the EIP-55 checksum. */
  signer: string;
  origin: string;
  chainId: number;
  issuedAt: string;
  expiresAt: string;
  /**
   * The session for which it was redeemed, the id of that event, the user to whom the wallet is linked, and whether a
   * contract accepted the signature; `undefined` while it is open.
   */
  redemption: { sessionId: string; eventId: string; linkTo?: string; by?: 'contract' } | undefined;
}

/** Oldest first, without those that had expired when the newest was issued. */
export type Challenges = readonly Challenge[];

const isLive = ({ expiresAt }: Challenge, nowMs: number): boolean => Date.parse(expiresAt) > nowMs;
const isOpen = (challenge: Challenge): boolean => challenge.redemption === undefined;

export const challengeFold = {
  initial: [] as Challenges,
  evolve: (challenges: Challenges, { type, data }: ChallengeEvent, _time: number, eventId: string): Challenges => {
    switch (type) {
      case 'ChallengeIssued': {
        const live = challenges.filter((challenge) => isLive(challenge, Date.parse(data.issuedAt)));
        const oldestOpen = live.filter(isOpen).length >= OPEN_MAX ? live.find(isOpen) : undefined;
        return [...live.filter((challenge) => challenge !== oldestOpen), { ...data, redemption: undefined }];
      }
      case 'ChallengeRedeemed': {
        const { nonce, ...redemption } = data;
        return challenges.map((challenge) =>
          challenge.nonce === nonce ? { ...challenge, redemption: { ...redemption, eventId } } : challenge,
        );
      }
    }
  },
};

export const issueChallenge = (
  challenges: Challenges,
  nowMs: number,
  request: Pick<Challenge, 'nonce' | 'appId' | 'signer' | 'origin' | 'chainId'>,
): ChallengeEvent[] => {
  if (challenges.some(({ nonce }) => nonce === request.nonce)) return [];
  const data = { ...request, issuedAt: toIso(nowMs), expiresAt: toIso(nowMs + LIFE_MS) };
  return [{ type: 'ChallengeIssued', data }];
};

/** Redeems a challenge once: one that is already redeemed keeps its session. */
export const redeemChallenge = (
  challenges: Challenges,
  nowMs: number,
  redemption: Extract<ChallengeEvent, { type: 'ChallengeRedeemed' }>['data'],
): ChallengeEvent[] => {
  const challenge = challenges.find((one) => one.nonce === redemption.nonce && isLive(one, nowMs));
  if (!challenge) throw noMatchingChallenge(challenges, nowMs);
  return isOpen(challenge) ? [{ type: 'ChallengeRedeemed', data: redemption }] : [];
};

/** The challenges that a signature may be over, those that are open first. */
export const signable = (challenges: Challenges, nowMs: number): Challenge[] => {
  const live = challenges.filter((challenge) => isLive(challenge, nowMs)).reverse();
  const redeemed = live.filter((challenge) => !isOpen(challenge)).slice(0, REDEEMED_TRIED_MAX);
  return [...live.filter(isOpen), ...redeemed];
};

/** The refusal of a signature that matches no open challenge. */
export const noMatchingChallenge = (challenges: Challenges, nowMs: number): Refusal =>
  challenges.some((challenge) => isOpen(challenge) && isLive(challenge, nowMs))
    ? new Refusal('wallet_signature_invalid', 'the signature fits no open challenge of this signer')
    : new Refusal('challenge_unknown', 'ask for a challenge first; each can be used once, for 5 minutes');
