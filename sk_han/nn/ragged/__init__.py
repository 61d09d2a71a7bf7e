"""Operations on ragged sequences: many sequences one after the other, without padding."""
