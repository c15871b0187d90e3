/**
 * Whose a claim on a watch is: a user's within an app, or an app's own (`userId: null`). Who signed a connection token has
 * one id as both: a user by a wallet the user's, who is in no app; whoever has an app's signing key, which may be in every
 * visitor's browser and is not the app itself, the app's.
 */
export interface Claimant {
  appId: string;
  userId: string | null;
}

/** Returns a claimant as text, `app_1` or `app_1/usr_1`. It is stored in read models. */
export const claimantText = ({ appId, userId }: Claimant): string => (userId === null ? appId : `${appId}/${userId}`);

/** Returns the app in the text of a claimant. */
export const appOfClaimant = (text: string): string => text.split('/', 1).join();
