export interface ProfileRule {
  /** Code points, counted after trimming and NFC. */
  charactersMax: number;
  /** Of an https URL, not of any text. */
  isUrl: boolean;
  /** Of sentences, in which both directions of writing may meet. */
  isProse?: boolean;
}

/**
 * What users may say of themselves. A new member is one line here, and a new version in the name of the read model of users,
 * whose documents change with it (`npm run generate` says so); one that events hold is never taken away.
 */
export const profileRules = {
  username: { charactersMax: 50, isUrl: false },
  firstname: { charactersMax: 50, isUrl: false },
  lastname: { charactersMax: 50, isUrl: false },
  avatar: { charactersMax: 2_048, isUrl: true },
  signature: { charactersMax: 200, isUrl: false, isProse: true },
} satisfies Record<string, ProfileRule>;
/** The texts of a user's messenger. */
export const messengerRules = {
  messengerId: { charactersMax: 128, isUrl: false },
  messengerUsername: { charactersMax: 50, isUrl: false },
  messengerFirstName: { charactersMax: 50, isUrl: false },
  messengerLastName: { charactersMax: 50, isUrl: false },
  messengerAvatarUrl: { charactersMax: 2_048, isUrl: true },
} satisfies Record<string, ProfileRule>;

export type ProfileMember = keyof typeof profileRules;

/** An object with every member of a profile. */
export const ofProfile = <Value>(valueOf: (rule: ProfileRule) => Value): Record<ProfileMember, Value> =>
  Object.fromEntries(Object.entries(profileRules).map(([member, rule]) => [member, valueOf(rule)])) as Record<
    ProfileMember,
    Value
  >;
