import type { ChallengeEvent } from '../../../../schemas/events/account/challenge-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';

const LIFE_MS = 5 * 60_000;
/** Of one client address: it closes its own oldest one by another. */
const OPEN_OF_CLIENT_MAX = 10;
/** Of all addresses: nobody closes those of another. */
const OPEN_MAX = 100;
/** From here on the places are for networks that have none open, so that a few addresses cannot take all. */
const OPEN_MAX_OF_FEW = 50;
/** How far the clocks of processes may differ. What is later than that is of a clock that went back since. */
const CLOCKS_DIFFER_MS = 60_000;
/** What the stream keeps: each event until an hour after its challenge has ended. */
export const challengesKept = { seconds: LIFE_MS / 1_000 + 3_600 };
/** Redeemed challenges that a repeated signature may complete the login of, should a crash have interrupted it. */
const REDEEMED_TRIED_MAX = 5;

/** All challenges of one signer at one app share a stream, so that one append decides which login redeems. */
export const challengeStream = (appId: string, signer: string): string =>
  `challenge-${sha256(`${appId} ${signer.toLowerCase()}`)}`;

export interface Challenge {
  nonce: string;
  appId: string;
  /** With the EIP-55 checksum. */
  signer: string;
  origin: string;
  chainId: number;
  issuedAt: string;
  expiresAt: string;
  /** What tells clients' addresses apart. */
  client?: string;
  /** What tells apart their networks, from which one person may have many addresses. */
  network?: string;
  /**
   * The session for which it was redeemed, the id of that event, the user to whom the wallet is linked, and whether a
   * contract accepted the signature; `undefined` while it is open.
   */
  redemption: { sessionId: string; eventId: string; linkTo?: string; by?: 'contract' } | undefined;
}

/** Oldest first, without those that had expired when the newest was issued. */
export type Challenges = readonly Challenge[];

const isLive = ({ issuedAt, expiresAt }: Challenge, nowMs: number): boolean =>
  Date.parse(expiresAt) > nowMs && Date.parse(issuedAt) <= nowMs + CLOCKS_DIFFER_MS;
const isOpen = (challenge: Challenge): boolean => challenge.redemption === undefined;

type Asking = Pick<Challenge, 'client' | 'network'>;

/** How many may be open before another one of this client. */
const placesFor = (open: Challenges, { network }: Asking): number =>
  open.some((challenge) => challenge.network === network) ? OPEN_MAX_OF_FEW : OPEN_MAX;

/** The one that another of the same client closes: its oldest, if it may have no more. Challenges that are live. */
const closedBy = (live: Challenges, asking: Asking): Challenge | undefined => {
  const open = live.filter(isOpen);
  const own = open.filter((challenge) => challenge.client === asking.client);
  return own.length >= OPEN_OF_CLIENT_MAX || open.length >= placesFor(open, asking) ? own[0] : undefined;
};

export const challengeFold = {
  initial: [] as Challenges,
  evolve: (challenges: Challenges, { type, data }: ChallengeEvent, _time: number, eventId: string): Challenges => {
    switch (type) {
      case 'ChallengeIssued': {
        const live = challenges.filter((challenge) => isLive(challenge, Date.parse(data.issuedAt)));
        const closed = closedBy(live, data);
        return [...live.filter((challenge) => challenge !== closed), { ...data, redemption: undefined }];
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

/** @throws Refusal rate_limited where other clients have as many open as there may be, and this one has none */
export const issueChallenge = (
  challenges: Challenges,
  nowMs: number,
  request: Pick<Challenge, 'nonce' | 'appId' | 'signer' | 'origin' | 'chainId' | 'client' | 'network'>,
): ChallengeEvent[] => {
  if (challenges.some(({ nonce }) => nonce === request.nonce)) return [];
  const live = challenges.filter((challenge) => isLive(challenge, nowMs));
  const open = live.filter(isOpen);
  const places = placesFor(open, request);
  const lastOfAll = open[open.length - places];
  if (lastOfAll && !closedBy(live, request)) {
    const retryAfter = Math.ceil((Date.parse(lastOfAll.expiresAt) - nowMs) / 1_000);
    throw new Refusal('rate_limited', `${String(places)} open challenges of a signer are allowed`, { retryAfter });
  }
  const data = { ...request, issuedAt: toIso(nowMs), expiresAt: toIso(nowMs + LIFE_MS) };
  return [{ type: 'ChallengeIssued', data }];
};

/** Redeems a challenge once. A redeemed one keeps its session, and only the same kind of signature, by key or contract, fits it. */
export const redeemChallenge = (
  challenges: Challenges,
  nowMs: number,
  redemption: Extract<ChallengeEvent, { type: 'ChallengeRedeemed' }>['data'],
): ChallengeEvent[] => {
  const challenge = challenges.find((one) => one.nonce === redemption.nonce && isLive(one, nowMs));
  if (!challenge || (challenge.redemption && challenge.redemption.by !== redemption.by)) {
    throw noMatchingChallenge(challenges, nowMs);
  }
  return isOpen(challenge) ? [{ type: 'ChallengeRedeemed', data: redemption }] : [];
};

/** The challenges that a signature may be over, newest first. */
export interface SignedChallenges {
  forKey: readonly Challenge[];
  forContract: readonly Challenge[];
}

/**
 * Returns the challenges that are open, and after them the last that were redeemed: for a key those of all clients.
 * A contract may accept what holds no secret, as a Safe accepts an empty signature for a message that its owners approved on the
 * chain. Whoever sends that first would have the owners' session. So a contract is asked only about challenges of the client that
 * sends the signature, or about the one whose nonce it sends.
 */
export const signable = (
  challenges: Challenges,
  nowMs: number,
  { origin, client, nonce }: { origin: string; client: string; nonce: string | undefined },
): SignedChallenges => {
  const live = challenges.filter((challenge) => isLive(challenge, nowMs)).reverse();
  const redeemed = live.filter((challenge) => !isOpen(challenge)).slice(0, REDEEMED_TRIED_MAX);
  const forKey = [...live.filter(isOpen), ...redeemed].filter(
    (challenge) => challenge.origin === origin && challenge.nonce === (nonce ?? challenge.nonce),
  );
  const forContract = forKey.filter(
    (challenge) =>
      (nonce !== undefined || challenge.client === client) &&
      (isOpen(challenge) || challenge.redemption?.by === 'contract'),
  );
  return { forKey, forContract };
};

/** The refusal of a signature that matches no open challenge. */
export const noMatchingChallenge = (challenges: Challenges, nowMs: number): Refusal =>
  challenges.some((challenge) => isOpen(challenge) && isLive(challenge, nowMs))
    ? new Refusal('wallet_signature_invalid', 'the signature fits no open challenge of this signer')
    : new Refusal('challenge_unknown', 'ask for a challenge first; each can be used once, for 5 minutes');
