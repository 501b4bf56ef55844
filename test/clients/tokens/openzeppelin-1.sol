pragma solidity ^0.4.24;

import "openzeppelin-1/contracts/token/ERC20/DetailedERC20.sol";
import "openzeppelin-1/contracts/token/ERC20/StandardToken.sol";
import "openzeppelin-1/contracts/token/ERC721/ERC721Token.sol";
import "@aragon/minime/contracts/MiniMeToken.sol";

contract Oz1Erc20 is StandardToken, DetailedERC20 {
    constructor(address[] holders) public DetailedERC20("Token", "T", 4) {
        for (uint256 i = 0; i < holders.length; i++) balances[holders[i]] = 15005000 + i;
    }
}

contract Oz1Erc20WithoutDecimals is StandardToken {
    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length; i++) balances[holders[i]] = 15 + i;
    }
}

contract Oz1Erc721 is ERC721Token {
    constructor(address[] holders) public ERC721Token("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }
}

contract MiniMe is MiniMeToken {
    constructor(address[] holders)
        public
        MiniMeToken(MiniMeTokenFactory(0), MiniMeToken(0), 0, "Token", 18, "T", true)
    {
        for (uint256 i = 0; i < holders.length; i++) generateTokens(holders[i], 1 ether + i);
    }
}
