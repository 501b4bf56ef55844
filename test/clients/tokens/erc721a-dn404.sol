// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.4;

import "erc721a/contracts/ERC721A.sol";
import "erc721a/contracts/extensions/ERC721AQueryable.sol";
import "dn404/src/example/SimpleDN404.sol";

contract Erc721aFromZero is ERC721A {
    constructor(address[] memory holders) ERC721A("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 4);
    }
}

contract Erc721aFromOne is ERC721A {
    constructor(address[] memory holders) ERC721A("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 4);
        _burn(2);
    }

    function _startTokenId() internal pure override returns (uint256) {
        return 1;
    }
}

contract Erc721aQueryable is ERC721AQueryable {
    constructor(address[] memory holders) ERC721A("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 4);
    }
}

/// One batch of 4 000: the owner of its n-th id costs n cold reads of storage, 2 200 gas each.
contract Erc721aExpensive is ERC721A {
    constructor(address[] memory holders) ERC721A("Token", "T") {
        _mintERC2309(holders[0], 4000);
        for (uint256 i = 1; i < holders.length; i++) _mint(holders[i], 4);
    }
}

contract Dn404 is SimpleDN404 {
    constructor(address[] memory holders) SimpleDN404("Token", "T", 0, msg.sender) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 3.5 ether + i);
    }
}

contract Dn404Nfts {
    address public deployed;

    constructor(address[] memory holders) {
        deployed = new Dn404(holders).mirrorERC721();
    }
}
