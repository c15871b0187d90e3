import type { ChallengeEvent } from '../../../schemas/events/challenge-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { toIso } from '../../../shared/primitives/clock.ts';

const LIFE_MS = 5 * 60_000;
const OPEN_MAX = 10;
/** More than ten open challenges and what redeemed others can take part in a decision: the stream keeps this many. */
export const CHALLENGE_EVENTS_KEPT = 256;

/** All challenges of one signer at one app, so that one append decides who redeems. */
export const challengeStream = (appId: string, signer: string): string =>
  `challenge-${sha256(`${appId}:${signer.toLowerCase()}`)}`;

export interface Challenge {
  nonce: string;
  appId: string;
  /** EIP-55. */
  signer: string;
  origin: string;
  chainId: number;
  issuedAt: string;
  expiresAt: string;
  /** For which session, and the event that says so. */
  redemption: { sessionId: string; eventId: string } | undefined;
}

/** Oldest first; only those that have not expired when the newest was issued. */
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
      case 'ChallengeRedeemed':
        return challenges.map((challenge) =>
          challenge.nonce === data.nonce
            ? { ...challenge, redemption: { sessionId: data.sessionId, eventId } }
            : challenge,
        );
    }
  },
};

export const issueChallenge = (
  challenges: Challenges,
  nowMs: number,
  asked: Pick<Challenge, 'nonce' | 'appId' | 'signer' | 'origin' | 'chainId'>,
): ChallengeEvent[] => {
  if (challenges.some(({ nonce }) => nonce === asked.nonce)) return [];
  const data = { ...asked, issuedAt: toIso(nowMs), expiresAt: toIso(nowMs + LIFE_MS) };
  return [{ type: 'ChallengeIssued', data }];
};

/** One redemption per challenge; a challenge that is redeemed already stays with its session. */
export const redeemChallenge = (
  challenges: Challenges,
  nowMs: number,
  { nonce, sessionId }: { nonce: string; sessionId: string },
): ChallengeEvent[] => {
  const challenge = challenges.find((one) => one.nonce === nonce && isLive(one, nowMs));
  if (!challenge) throw noneFits(challenges, nowMs);
  return isOpen(challenge) ? [{ type: 'ChallengeRedeemed', data: { nonce, sessionId } }] : [];
};

/** Why a signature is refused that no challenge can be redeemed with. */
export const noneFits = (challenges: Challenges, nowMs: number): Refusal =>
  challenges.some((challenge) => isOpen(challenge) && isLive(challenge, nowMs))
    ? new Refusal('wallet_signature_invalid', 'the signature fits no open challenge of this signer')
    : new Refusal('challenge_unknown', 'ask for a challenge first; each can be used once, for 5 minutes');
