import type { AssignedAccount, UserEvent } from '../../../../schemas/events/account/user-events.ts';

/** The members of a user that operations need. */
export interface AccountHolder {
  /** In the order of assignment. */
  accounts: readonly AssignedAccount[];
  isErased: boolean;
}

/** Of a user's stream. */
export const accountHolderFold = {
  initial: { accounts: [], isErased: false } as AccountHolder,
  evolve: (holder: AccountHolder, { type, data }: UserEvent): AccountHolder => {
    switch (type) {
      case 'SmartAccountAssigned': {
        const { userId: _userId, ...account } = data;
        return { ...holder, accounts: [...holder.accounts, account] };
      }
      case 'UserErased':
        return { ...holder, isErased: true };
      default:
        return holder;
    }
  },
};
